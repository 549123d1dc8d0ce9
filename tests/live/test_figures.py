"""`status` shows what the last look has written down, and loads no numerics for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.live.tuners import SPEC, Clock, spec_with, tuner_at, world
from trimtab.live import Spec
from trimtab.live.status import Status
from trimtab.live.store.opening import open_journal

SINCE = ("as_of", "helping", "certificate")  # what goes on between looks
PROGRAM = """
import sys
import trimtab as tt
with tt.Tuner(sys.argv[1], read_only=True) as tuner:
    print(tuner.status())
heavy = [name for name in sys.modules if name.split(".")[0] in ("numpy", "scipy")]
print([*heavy, *(name for name in sys.modules if name == "trimtab._core")])
"""


def recommended() -> Spec:
    return spec_with(policy={})


def fresh(path: Path, clock: Clock, spec: Spec | None = None) -> Status:
    """The status by a process that knows nothing yet."""
    with tuner_at(path, clock, spec or recommended(), read_only=True) as tuner:
        found = tuner.status()
        computed = tuner._projection._learned is not None
        assert computed == (found.as_of == found.rounds)
        return found


def told(tuner: tt.Tuner, clock: Clock, n: int) -> None:
    decision = tuner.ask()
    clock.wait(minutes=30)
    tuner.tell(decision.id, world(decision.values, np.random.default_rng(n)))


def without(status: Status, *names: str) -> dict[str, Any]:
    return {name: x for name, x in status.to_dict().items() if name not in names}


def test_figures_are_those_of_the_last_look_and_all_else_is_as_it_is(tmp_path: Path) -> None:
    """In a process that has to compute nothing, beside one that has computed all."""
    clock = Clock()
    aged = looks = 0
    with tuner_at(tmp_path, clock, recommended()) as tuner:
        for n in range(60):
            decision = tuner.ask()
            *_, event = tuner._journal.events("shop", after=int(decision.id[5:]) - 1)
            mine, other = tuner.status(), fresh(tmp_path, clock)
            aged += other.as_of != other.rounds
            if "look" in event.payload:
                assert other.as_of == decision.round - 1
                assert without(other, "as_of") == without(mine, "as_of")
                looks += 1
            assert without(other, *SINCE) == without(mine, *SINCE)
            assert (other.helping is None) == (mine.helping is None)
            clock.wait(minutes=30)
            tuner.tell(decision.id, world(decision.values, np.random.default_rng(n)))
        assert tuner.status().moves > 3
    assert aged > 40
    assert looks > 4


@pytest.mark.parametrize("order", ["pause", "override", "rollback", "attach", "resume", "warm"])
def test_an_order_counts_at_once(tmp_path: Path, order: str) -> None:
    """By a policy whose goals are far away."""
    clock, spec = Clock(), spec_with()
    goals = aged = 0
    with tuner_at(tmp_path, clock, spec) as tuner:
        for n in range(40):
            told(tuner, clock, n)
            tuner.ask()
            goals += tuner.status().goal is not None
            if tuner.status().goal is None and n % 20 != 19:
                continue
            match order:
                case "override":
                    tuner.override({"ttl": 30})
                case "attach":
                    tuner.attach({"size": n % 10})
                case "rollback":
                    tuner.rollback(best=True)
                case "warm":
                    row = {"ttl": [99], "size": [4], "mix": [0.25], "metric": ["latency"]}
                    tuner.warm_start(row | {"value": [100.0 + n]})
                    assert fresh(tmp_path, clock, spec).as_of == tuner.status().rounds
                case _:
                    getattr(tuner, order)()
            mine, other = tuner.status(), fresh(tmp_path, clock, spec)
            assert without(other, *SINCE) == without(mine, *SINCE)
            aged += other.as_of != other.rounds
            tuner.resume()
            mine, other = tuner.status(), fresh(tmp_path, clock, spec)
            assert without(other, *SINCE) == without(mine, *SINCE)
    assert goals > 3
    assert (aged > 3) == (order not in ("attach", "warm"))


def test_figures_that_are_lost_are_made_again(tmp_path: Path) -> None:
    clock = Clock()
    with tuner_at(tmp_path, clock, recommended()) as tuner:
        for n in range(50):
            told(tuner, clock, n)
        mine = tuner.status()
    assert fresh(tmp_path, clock).as_of != mine.rounds
    with open_journal(str(tmp_path / "a.db")) as journal:
        sql = "UPDATE trimtab_snapshots SET checksum = digest"
        journal._database.transact(lambda execute: execute(sql))
    with pytest.warns(UserWarning, match="its checksum does not match"):
        assert fresh(tmp_path, clock) == mine


def test_status_loads_no_numerics_and_says_how_old_its_figures_are(tmp_path: Path) -> None:
    spec = tmp_path / "shop.toml"
    rules = SPEC[: SPEC.index("[policy]")]
    spec.write_text(f'storage = "sqlite:///{tmp_path}/a.db"\n' + rules)
    clock = Clock()
    with tt.Tuner(spec, clock=clock) as tuner:
        for n in range(45):
            told(tuner, clock, n)
        mine = tuner.status().to_dict()
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, spec], capture_output=True, text=True, check=True
    )
    *lines, heavy = ran.stdout.splitlines()
    assert heavy == "[]"
    assert "(as of round " in lines[3]
    assert Status.from_dict({**mine, "as_of": 12}).aged == " (as of round 12)"
