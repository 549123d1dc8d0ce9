"""Who only tells, pauses or orders loads no numerics: it is checked, appended and acknowledged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trimtab as tt
from tests.live.tuners import SPEC, Clock, play, spec_with, tuner_at
from trimtab.live import follower
from trimtab.live.spec.basis_and_policy import POWERS
from trimtab.live.state.measurement import rounds_of
from trimtab.live.store.faults import SnapshotIgnored
from trimtab.model import problem
from trimtab.policies.learner import arguments

PROGRAM = """
import sys
import trimtab as tt
with tt.Tuner(sys.argv[1]) as tuner:
    print(tuner.tell(sys.argv[2], {"latency": 90.0, "sales": (5.0, 0.1), "errors": 1.0}).events)
    tuner.pause("a moment")
    tuner.resume()
    tuner.attach({"size": 6})
    tuner.override({"size": 5})
    print(len(tuner.history()))
heavy = [name for name in sys.modules if name.split(".")[0] in ("numpy", "scipy")]
print([*heavy, *(name for name in sys.modules if name == "trimtab._core")])
"""


@pytest.mark.parametrize("rounds", [1, 4])
def test_a_tell_or_an_order_loads_no_numerics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    """With and without a snapshot."""
    monkeypatch.setattr(follower, "SNAPSHOT_EVERY", 6)
    spec = tmp_path / "shop.toml"
    spec.write_text(f'storage = "sqlite:///{tmp_path}/a.db"\n' + SPEC)
    clock = Clock()
    with tt.Tuner(spec, clock=clock) as tuner:
        play(tuner, clock, rounds)
        decision = tuner.ask()
        saved = tuner._journal.load_snapshot("shop")
        assert (saved is not None) == (rounds > 1)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, spec, decision.id],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
    assert ran.stdout.splitlines()[0] != "()"
    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_snapshot_whose_arrays_cannot_be_used_is_found_out_when_they_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "SNAPSHOT_EVERY", 4)
    clock = Clock()
    with tuner_at(tmp_path, clock) as tuner:
        play(tuner, clock, 6)
        wanted = tuner.policy.snapshot()
        content = tuner._projection.content()
        number = tuner._projection.number
        half = content[: len(content) - 40]  # the plain part is whole
        tuner._journal.save_snapshot("shop", number=number, content=half)
    with tuner_at(tmp_path, clock) as tuner:
        tuner.pause()
        with pytest.warns(SnapshotIgnored, match="its arrays cannot be unpacked"):
            found = tuner.policy.snapshot()
    assert found.keys() == wanted.keys()
    for name, x in wanted.items():
        np.testing.assert_array_equal(found[name], x, err_msg=name)


def test_what_is_counted_without_numerics_is_what_the_policy_counts() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        counts = rng.integers(0, 4, 3)
        losses = np.where((rng.random(3) < 0.5) | (counts == 0), np.nan, rng.random(3))
        same = arguments.rounds_of(losses, counts)
        assert rounds_of(losses.tolist(), counts.tolist()) == same
    assert POWERS == problem.POWERS
    spec = spec_with()
    assert spec.start.tolist() == spec.start_place
