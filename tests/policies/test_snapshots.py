"""Nothing is lost in a crash: interrupt anywhere, restore, and the future is the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab as tt
from tests.policies.test_conformance import POLICIES, PROBLEMS, drive, same, start_of
from trimtab.policies import Policy

VERBS = ["tell", "tell", "place", "restore", "file"]
policies = pytest.mark.parametrize("name", POLICIES)


def act(policy: Policy, step: tuple[str, int]) -> None:
    verb, seed = step
    rng = np.random.default_rng(seed)
    if verb == "place":
        policy.place(policy.problem.domain.sample(rng))
    else:
        drive(policy, 1 + seed % 5, seed)


@pytest.mark.slow
@policies
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["tell", "tell", "place", "restore", "file"]), st.integers(0, 99)
        ),
        max_size=8,
    )
)
@settings(max_examples=6)
def test_any_sequence_of_interruptions(name: str, steps: list[tuple[str, int]]) -> None:
    """One policy lives through it; the other is saved and restored on the way."""
    problem = PROBLEMS["scopes, levels and weights"]()
    steady, broken = (POLICIES[name](problem, start_of(problem), 1) for _ in range(2))
    for step in steps:
        if step[0] == "restore":
            broken = tt.restore(problem, broken.snapshot())
        elif step[0] == "file":
            with TemporaryDirectory() as folder:
                tt.save(broken, Path(folder) / "policy")
                broken = tt.load(problem, Path(folder) / "policy")
        else:
            act(steady, step)
            act(broken, step)
        np.testing.assert_array_equal(steady.ask(), broken.ask())
    assert same(steady.snapshot(), broken.snapshot())
    for left, right in zip(drive(steady, 10, 3), drive(broken, 10, 3), strict=True):
        np.testing.assert_array_equal(left[0], right[0])
        assert left[1:] == right[1:]


@pytest.mark.parametrize("path", ["rounds", "events"])
@pytest.mark.parametrize("kind", [tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB])
def test_a_run_in_two_halves(
    kind: type[tt.LazyGraphLinUCB | tt.AsyncLazyGraphLinUCB], path: Any, tmp_path: Path
) -> None:
    """Saved to a file in the middle of an epoch; the second half is the same to the bit."""
    world = tt.worlds.quadratic(tt.Graph.cliques([3, 2, 2]), seed=1)
    file = tmp_path / "policy.trimtab"
    policy = kind(world.problem, start=np.full(7, 0.5), radius=0.7)
    rng = np.random.default_rng(2)
    tt.play(policy, world, horizon=333, seed=rng, path=path)
    tt.save(policy, file)
    again = tt.load(world.problem, file)
    state = rng.bit_generator.state
    first = tt.play(policy, world, horizon=5000, seed=rng, path=path)
    rng.bit_generator.state = state
    second = tt.play(again, world, horizon=5000, seed=rng, path=path)
    for name in ("ends", "changed", "values", "rates", "attributions"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert same(policy.snapshot(), again.snapshot())
    assert first.moves > 3


@policies
def test_save_and_load(name: str, tmp_path: Path) -> None:
    problem = PROBLEMS["quadratic path"]()
    policy = POLICIES[name](problem, start_of(problem), 4)
    drive(policy, 30, 5)
    file = tmp_path / "policy"
    tt.save(policy, file)
    again = tt.load(problem, file)
    assert type(again) is type(policy)
    assert same(again.snapshot(), policy.snapshot())
    tt.save(again, file)  # replaces it
    assert [p.name for p in tmp_path.iterdir()] == ["policy"]  # no drafts left behind


@pytest.mark.parametrize("seed", [2**63 - 1, 2**63, 2**64, 2**70, 10**40])
def test_any_seed_can_be_saved(seed: int, tmp_path: Path) -> None:
    """Seeds may be of any length; no array type holds those of more than 64 bits."""
    problem = PROBLEMS["quadratic path"]()
    policy = tt.RandomState(problem, start=start_of(problem), seed=seed)
    drive(policy, 3, 1)
    tt.save(policy, tmp_path / "policy")
    again = tt.load(problem, tmp_path / "policy")
    assert again.snapshot()["seed"] == seed
    assert same(again.snapshot(), policy.snapshot())
    for left, right in zip(drive(policy, 5, 2), drive(again, 5, 2), strict=True):
        np.testing.assert_array_equal(left[0], right[0])


def test_any_seed_of_a_gradient_policy_can_be_saved(tmp_path: Path) -> None:
    policy = tt.LazyOGD(
        tt.Box(),
        start=[0.5] * 2,
        horizon=50,
        lipschitz=1.0,
        budget=10,
        mode="random",
        seed=2**70,
    )
    policy.tell([0.6, -0.8])
    tt.save(policy, tmp_path / "policy")
    again = tt.load(tt.Box(), tmp_path / "policy")
    assert isinstance(again, tt.LazyOGD)  # as the types say: a GradientPolicy
    assert again.seed == 2**70
    for _ in range(40):
        told, later = policy.tell([0.6, -0.8]), again.tell([0.6, -0.8])
        assert (told.cause, told.next_review) == (later.cause, later.next_review)
        np.testing.assert_array_equal(policy.ask(), again.ask())


def sample() -> tuple[tt.Problem, Policy]:
    problem = PROBLEMS["quadratic path"]()
    policy = tt.LazyGraphLinUCB(problem, start=start_of(problem), radius=0.5)
    drive(policy, 10, 1)
    return problem, policy


def changed(**entries: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda snapshot: snapshot | entries


def without(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda snapshot: {key: x for key, x in snapshot.items() if key not in names}


@pytest.mark.parametrize(
    ("message", "spoil"),
    [
        ("not a snapshot", without("format")),
        ("not a snapshot", changed(format="one")),
        ("format 99, .* reads format 2 only: upgrade trimtab", changed(format=99)),
        ("format 1, .* reads format 2 only: begin with a new policy", changed(format=1)),
        ("policy 'Oracle'", changed(policy="Oracle")),
        ("another problem", changed(problem="0" * 64)),
        ("incomplete: R ", without("R")),
        ("incomplete: _last_global, clock", without("clock", "_last_global")),
        ("incomplete: radius", without("radius.beta")),
        (r"damaged: gain has shape \(3,\)", changed(gain=np.zeros(3))),
        ("state", changed(state=np.array([0.5, 0.5, 0.5, 7.0]))),
        ("reg", changed(reg=-np.ones(4))),
    ],
)
def test_what_is_no_snapshot_of_this(
    message: str, spoil: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    problem, policy = sample()
    with pytest.raises(tt.InvalidInput, match=message):
        tt.restore(problem, spoil(policy.snapshot()))


def test_a_foreign_problem() -> None:
    _, policy = sample()
    other = tt.Problem(policy.problem.graph, weights=[1.0, 1.0, 1.0, 2.0])
    with pytest.raises(tt.InvalidInput, match="another problem"):
        tt.restore(other, policy.snapshot())


def test_damaged_files(tmp_path: Path) -> None:
    problem, policy = sample()
    file = tmp_path / "policy"
    tt.save(policy, file)
    whole = file.read_bytes()
    for content, message in [
        (whole[: len(whole) // 2], "truncated or damaged"),
        (whole[:-1], "truncated or damaged"),
        (whole[:-20] + b"x" + whole[-19:], "truncated or damaged"),
        (b"", "not a trimtab snapshot"),
        (b"PK\x03\x04 something else", "not a trimtab snapshot"),
    ]:
        file.write_bytes(content)
        with pytest.raises(tt.InvalidInput, match=message):
            tt.load(problem, file)
    with pytest.raises(tt.InvalidInput, match="cannot be read"):
        tt.load(problem, tmp_path / "absent")


def test_a_snapshot_is_a_copy() -> None:
    _, policy = sample()
    before = policy.snapshot()
    kept = {name: np.copy(x) if isinstance(x, np.ndarray) else x for name, x in before.items()}
    drive(policy, 20, 2)
    assert same(before, kept)
    for value in before.values():
        assert isinstance(value, np.ndarray | int | float | str | bool)
