"""Boxes: what they accept, what they refuse, and where they sample."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import InvalidInput
from trimtab.model.domain import BoundBox, Box

MIXED = Box(low=[0.25, 0.0, 0.5], high=[0.75, 1.0, 0.5], levels={1: [1.0, 0.0, 0.3]})


def refused(message: str) -> Any:
    return pytest.raises(InvalidInput, match=f"^{re.escape(message)}$")


@st.composite
def boxes(draw: st.DrawFn) -> BoundBox:
    """A random box of 1 to 5 knobs, some with levels."""
    k = draw(st.integers(1, 5))
    unit = st.floats(0, 1)
    ends = draw(st.lists(st.tuples(unit, unit).map(sorted), min_size=k, max_size=k))
    levels = [
        draw(
            st.none()
            | st.lists(st.sampled_from(np.linspace(a, b, 5).tolist()), min_size=1, max_size=3)
        )
        for a, b in ends
    ]
    apart = [None if v is None or np.ptp(v) < 1e-6 else sorted(set(v)) for v in levels]
    return Box(low=[a for a, _ in ends], high=[b for _, b in ends], levels=apart).bind(k)


def test_the_default_is_the_unit_cube() -> None:
    box = Box().bind(3)
    assert box.knobs == 3
    assert box.low.tolist() == [0, 0, 0]
    assert box.high.tolist() == [1, 1, 1]
    assert box.level_offsets.tolist() == [0, 0, 0, 0]
    assert box.level_values.size == box.leveled.size == 0
    assert box.diameter == 3
    assert box.check([0, 0.5, 1]).tolist() == [0, 0.5, 1]


def test_arrays_of_a_mixed_box() -> None:
    box = MIXED.bind(3)
    assert box.low.tolist() == [0.25, 0.0, 0.5]
    assert box.high.tolist() == [0.75, 1.0, 0.5]
    assert box.level_offsets.tolist() == [0, 0, 3, 3]
    assert box.level_values.tolist() == [0.0, 0.3, 1.0]
    assert box.leveled.tolist() == [1]
    assert box.levels_of(1).tolist() == [0.0, 0.3, 1.0]
    assert box.levels_of(2).size == 0
    assert box.diameter == 0.5 + 1.0 + 0.0
    for array in (box.low, box.high, box.level_offsets, box.level_values, box.leveled):
        assert not array.flags.writeable


def test_a_sequence_and_a_mapping_say_the_same() -> None:
    a = Box(levels=[None, [0.5], (0, 1)]).bind(3)
    b = Box(levels={2: np.array([1, 0]), 1: [0.5], 0: None}).bind(3)
    for name in ("low", "high", "level_offsets", "level_values"):
        assert getattr(a, name).tolist() == getattr(b, name).tolist()
    assert a.level_offsets.tolist() == [0, 0, 1, 3]


def test_ends_are_the_outermost_levels() -> None:
    box = Box(levels=[[0.2, 0.7], None]).bind(2)
    assert (box.low.tolist(), box.high.tolist()) == ([0.2, 0.0], [0.7, 1.0])
    assert box.diameter == pytest.approx(0.5 + 1.0)


@given(boxes(), st.integers(0, 2**32 - 1))
def test_samples_are_inside_and_within_the_diameter(box: BoundBox, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = box.sample(rng), box.sample(rng)
    assert box.check(a).tolist() == a.tolist()
    assert np.abs(a - b).sum() <= box.diameter + 1e-12
    assert np.abs(box.high - box.low).sum() == pytest.approx(box.diameter)
    assert box.contains(box.low)
    assert box.contains(box.high)


def test_samples_are_uniform() -> None:
    box = Box(low=0.2, high=[0.6, 1.0, 1.0], levels={1: [0.2, 0.9, 1.0], 2: [0.4]}).bind(3)
    rng = np.random.default_rng(0)
    n = 10_000
    draws = np.array([box.sample(rng) for _ in range(n)])
    # Six standard deviations each: a false alarm has probability below 1e-8.
    quarters, _ = np.histogram(draws[:, 0], bins=[0.2, 0.3, 0.4, 0.5, 0.6])
    assert np.abs(quarters - n / 4).max() < 6 * np.sqrt(n * 3 / 16)
    values, counts = np.unique(draws[:, 1], return_counts=True)
    assert values.tolist() == [0.2, 0.9, 1.0]
    assert np.abs(counts - n / 3).max() < 6 * np.sqrt(n * 2 / 9)
    assert set(draws[:, 2]) == {0.4}
    assert abs(np.corrcoef(draws[:, 0], draws[:, 1])[0, 1]) < 6 / np.sqrt(n)


def test_a_sample_never_passes_its_end() -> None:
    class Top(np.random.Generator):
        """Rounds as badly as uniform may: one unit in the last place above high."""

        def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
            return np.nextafter(high, 2.0)

    box = Box(low=0.1, high=0.7).bind(2)
    assert box.sample(Top(np.random.PCG64(0))).tolist() == [0.7, 0.7]


def test_a_level_is_recognised_and_restored() -> None:
    box = MIXED.bind(3)
    given_state = np.array([0.5, 0.1 + 0.2, 0.5])
    checked = box.check(given_state)
    assert checked.tolist() == [0.5, 0.3, 0.5]
    assert given_state[1] != 0.3  # the input stays as it is
    assert box.check([0.5, 1.0 + 9e-13, 0.5]).tolist() == [0.5, 1.0, 0.5]
    assert box.check([0.5, -9e-13, 0.5]).tolist() == [0.5, 0.0, 0.5]
    assert not box.contains([0.5, 0.3 + 2e-12, 0.5])


def test_levels_of_several_knobs_do_not_mix() -> None:
    box = Box(levels=[[0.1, 0.2], None, [0.3], [0.1, 0.9]]).bind(4)
    state = [0.2, 0.15, 0.3, 0.9]
    assert box.check(np.add(state, [1e-13, 0, -1e-13, 1e-13])).tolist() == state
    assert not box.contains([0.9, 0.15, 0.3, 0.9])
    assert not box.contains([0.2, 0.15, 0.3, 0.2])


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ([0.5, 0.3], "state has shape (2,), expected (3,); give one value per knob"),
        ([np.nan, 0.3, 0.5], "state[0] = nan is not finite; every entry must be a number"),
        ([0.5, np.nan, 0.5], "state[1] = nan is not finite; every entry must be a number"),
        (
            [0.75 + 1e-13, 0.3, 0.5],
            "state[0] = 0.7500000000001 is outside [0.25, 0.75]; move it inside or widen the box",
        ),
        (
            [0.2, 0.3, 0.5],
            "state[0] = 0.2 is outside [0.25, 0.75]; move it inside or widen the box",
        ),
        (
            [0.5, 0.3, 0.4],
            "state[2] = 0.4 is outside [0.5, 0.5]; move it inside or widen the box",
        ),
        ([0.5, 0.5, 0.5], "state[1] = 0.5 is no level of knob 1; set it to 0.3 or 1.0"),
        ([0.5, 1.5, 0.5], "state[1] = 1.5 is no level of knob 1; set it to 1.0"),
        ([0.5, -0.5, 0.5], "state[1] = -0.5 is no level of knob 1; set it to 0.0"),
    ],
)
def test_refused_states(state: Any, message: str) -> None:
    box = MIXED.bind(3)
    with refused(message):
        box.check(state)
    with refused(message.replace("state", "start")):
        box.check(state, "start")
    assert not box.contains(state)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"low": -0.1}, "low[0] = -0.1 must be at least 0"),
        ({"low": np.nan}, "low[0] = nan is not finite; every entry must be a number"),
        ({"low": [[0.0]]}, "low has shape (1, 1); give a number or one per knob"),
        ({"low": "0"}, "low must hold real numbers, not <U1; convert it first"),
        ({"low": []}, "low has shape (0,), expected (1,); give one value per knob"),
        ({"high": [1, 1.5]}, "high[1] = 1.5; it must be at most 1: rescale the knob"),
        ({"low": 0.5, "high": [1, 0.4]}, "low[1] = 0.5 is above high[1] = 0.4; swap them"),
        (
            {"low": [0, 0], "high": [1, 1, 1]},
            "low has shape (2,), expected (3,); give one value per knob",
        ),
        ({"low": [0, 0], "levels": [[0]]}, "levels has 1 entries for 2 knobs; give one per knob"),
        ({"levels": []}, "levels has 0 entries for 1 knobs; give one per knob"),
        ({"levels": 0.5}, "levels = 0.5; give one entry per knob, or a mapping"),
        (
            {"levels": [0, 0.5]},
            "levels[0] = 0.0; list the values knob 0 may take, or None",
        ),
        (
            {"levels": [None, []]},
            "levels[1] is empty; list at least one value, or None for any",
        ),
        ({"levels": {2: [0.2, 0.1, 0.2]}}, "levels[2] holds 0.2 twice; list each level once"),
        ({"levels": {0: [0.3, 0.1 + 0.2]}}, "levels[0] holds 0.3 twice; list each level once"),
        (
            {"high": 0.5, "levels": [None, [0.2, 0.6]]},
            "levels[1] holds 0.6, outside [0.0, 0.5]; drop the level or widen the interval",
        ),
        (
            {"low": 0.5, "levels": [None, [0.2, 0.6]]},
            "levels[1] holds 0.2, outside [0.5, 1.0]; drop the level or widen the interval",
        ),
        (
            {"levels": [[0.2, np.nan]]},
            "levels[0] holds nan, outside [0.0, 1.0]; drop the level or widen the interval",
        ),
        ({"levels": {"speed": [0]}}, "levels names knob 'speed'; name knobs by their index"),
        ({"levels": {True: [0]}}, "levels names knob True; name knobs by their index"),
        ({"levels": {-1: [0]}}, "levels names knob -1; the knobs are 0 to 0"),
    ],
)
def test_refused_boxes(arguments: dict[str, Any], message: str) -> None:
    with refused(message):
        Box(**arguments)


def test_refused_bindings() -> None:
    with refused("k = 0; it must be at least 1"):
        Box().bind(0)
    with refused("high has shape (2,), expected (3,); give one value per knob"):
        Box(high=[1, 1]).bind(3)
    with refused("levels has 2 entries for 3 knobs; give one per knob"):
        Box(levels=[None, [0]]).bind(3)
    with refused("levels has 2 entries for 1 knobs; give one per knob"):
        Box(levels=[None, None]).bind(1)
    with refused("levels names knob 4; the knobs are 0 to 2"):
        Box(levels={4: [0]}).bind(3)


def test_a_box_is_a_value() -> None:
    low = [0.0, 0.25]
    levels = {0: [0.0, 0.5]}
    box = Box(low=low, levels=levels)
    low[0] = 0.9
    levels[0].append(1.0)
    assert box == Box(low=np.array([0, 0.25]), levels={0: (0, 0.5)})
    assert box != Box(low=[0.0, 0.25], levels={0: [0, 1]})
    assert len({box, Box(low=[0.0, 0.25], levels={0: [0.0, 0.5]}), Box()}) == 2
    assert repr(Box()) == "Box(low=0.0, high=1.0, levels=None)"
    with pytest.raises(AttributeError):
        box.low = 0.5  # type: ignore[misc]
