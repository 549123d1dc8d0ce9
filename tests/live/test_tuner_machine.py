"""Any order of calls: the same observations teach the same, and no guard is ever exceeded.

What is checked is computed beside the tuner, from what it was told and what it answered.
Hypothesis plays 18 machines of 30 steps at least, whatever its profile is, and which steps they are
depends on its version. So what must have happened is asked of a few machines that a fixed generator
plays. TRIMTAB_FUZZ_EXAMPLES multiplies the number of examples, in units of 700.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

import trimtab as tt
import trimtab.live.follower as module
from tests.live.tuners import Clock, assert_same, direct, matrices, spec_with, world
from trimtab.live import Decision
from trimtab.live.replay import replay
from trimtab.live.store.opening import open_journal

EXAMPLES = max(int(18 * int(os.environ.get("TRIMTAB_FUZZ_EXAMPLES", "700")) / 700), 1)
SPEC = spec_with()
CLOSE = 1 + 1e-9
METRICS = ("latency", "sales", "errors", "load")
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "ttl": st.floats(30, 3000),
        "size": st.integers(0, 10),
        "mix": st.floats(0, 1),
    },
)
STEPS = 30  # of a machine
WALKS, WALK = 4, 120  # machines that a fixed generator plays, and their steps


@dataclass
class Made:
    """A decision, and what the test has told of it."""

    decision: Decision
    settled: bool
    told: dict[str, Any] = field(default_factory=dict)


class Machine(RuleBasedStateMachine):
    """One tuner, its users and its accidents."""

    played = 0  # machines, to their ends

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="trimtab-machine-"))
        self.clock = Clock()
        self.made: list[Made] = []
        self.open: dict[str | None, Made] = {}
        self.values: dict[str, float] = SPEC.values(SPEC.start)
        self.ready = 0  # the first round at which ttl has settled
        self.moves: list[tuple[Any, int, dict[str, float], bool]] = []  # time, round, by whom
        self.seen: set[str] = set()  # metrics, since the state was deployed
        self.tuners: list[tt.Tuner] = []
        self.reasons: Counter[tuple[str, bool]] = Counter()  # and whether anything was changed
        self.every, module.SNAPSHOT_EVERY = module.SNAPSHOT_EVERY, 9
        self.opened()

    def opened(self) -> None:
        self.tuners.append(
            tt.Tuner(SPEC, storage=str(self.folder / "a.db"), clock=self.clock, seed=1)
        )

    @property
    def tuner(self) -> tt.Tuner:
        return self.tuners[-1]

    def changed(self, values: dict[str, float], round: int, *, by_hand: bool) -> None:
        """Take note of a move, in the distances of the spec."""
        if values == self.values:
            return
        far = {
            "ttl": abs(log(values["ttl"] / self.values["ttl"])),
            "size": abs(values["size"] - self.values["size"]),
            "mix": abs(values["mix"] - self.values["mix"]),
        }
        if not by_hand:
            self.guarded(far, round)
        self.moves.append((self.clock.now, round, far, by_hand))
        if far["ttl"] > 0:
            self.ready = max(self.ready, round + 1)
        self.values, self.seen = values, set()

    def guarded(self, far: dict[str, float], round: int) -> None:
        """No limit of the spec is exceeded by what the tuner itself now does."""
        assert exp(far["ttl"]) <= 2 * CLOSE

        def before(name: str, inside: Any) -> float:
            return sum(d[name] for t, r, d, _ in self.moves if inside(t, r))

        if far["size"]:
            hour = before("size", lambda t, r: t > self.clock.now - timedelta(hours=1))
            assert hour + far["size"] <= 3
            assert before("size", lambda t, r: True) + far["size"] <= 40
        if far["mix"]:
            assert far["mix"] >= 0.02 / CLOSE
            assert before("mix", lambda t, r: r > round - 3) + far["mix"] <= 0.3 * CLOSE
            assert before("mix", lambda t, r: r > round - 50) + far["mix"] <= 3.0 * CLOSE

    # Asking.

    @rule(client=st.sampled_from([None, "a", "b"]))
    def ask(self, client: str | None) -> None:
        decision = self.tuner.ask(client)
        assert self.tuner.ask(client) == decision
        held = self.open.get(client)
        if held is not None and held.decision.id == decision.id:
            assert held.decision == decision
            return
        assert decision.round == len(self.made) + 1
        assert {"ttl", "size", "mix"} == decision.values.keys()
        assert 30 <= decision.values["ttl"] <= 3000
        assert 0 <= decision.values["size"] <= 10
        assert isinstance(decision.values["size"], int)
        assert 0 <= decision.values["mix"] <= 1
        assert decision.previous == self.values
        if decision.changed and decision.reason in ("move", "guard"):
            assert self.seen >= {"latency", "sales", "errors"}  # never on what is missing
        self.reasons[decision.reason, bool(decision.changed)] += 1
        self.changed(dict(decision.values), decision.round, by_hand=False)
        made = Made(decision, settled=decision.round >= self.ready)
        self.made.append(made)
        self.open[client] = made

    # Telling.

    @precondition(lambda self: self.made)
    @rule(
        data=st.data(),
        names=st.sets(st.sampled_from(METRICS)),
        count=st.sampled_from([1, 1, 3]),
        bad=st.sampled_from([0, 0, 0, 1, 2]),
    )
    def tell(self, data: st.DataObject, names: set[str], count: int, bad: int) -> None:
        """Something of any decision, old or new, that was not told yet."""
        made = data.draw(st.sampled_from(self.made[-12:]))
        truth = world(made.decision.values, np.random.default_rng(len(self.made)))
        truth["errors"] += 5.0 * (bad == 1)
        truth["load"] += 10.0 * (bad == 2)
        told = {name: truth[name] for name in sorted(names) if name not in made.told}
        self.tuner.tell(made.decision.id, told, count=count)
        self.note(made, {name: [x, None, count] for name, x in told.items()})

    def note(self, made: Made, contents: dict[str, Any]) -> None:
        made.told |= contents
        for client, held in list(self.open.items()):
            if held is made:
                del self.open[client]
        if made.settled and made.decision.values == self.values:
            self.seen |= contents.keys()

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def tell_again(self, data: st.DataObject) -> None:
        made = data.draw(st.sampled_from(self.made))
        known = {name: x for name, x in made.told.items() if x is not None}
        if not known:
            return
        name = data.draw(st.sampled_from(sorted(known)))
        mean, _, count = known[name]
        assert self.tuner.tell(made.decision.id, {name: mean}, count=count).repeated
        with pytest.raises(tt.Conflict):
            self.tuner.tell(made.decision.id, {name: mean + 0.5}, count=count)

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def tell_nan(self, data: st.DataObject) -> None:
        made = data.draw(st.sampled_from(self.made[-12:]))
        self.tuner.tell(made.decision.id, {"latency": float("nan"), "sales": None})
        self.note(made, {})

    @precondition(lambda self: any(made.told for made in self.made))
    @rule(data=st.data(), back=st.booleans())
    def correct(self, data: st.DataObject, back: bool) -> None:
        made = data.draw(st.sampled_from([made for made in self.made if made.told]))
        name = data.draw(st.sampled_from(sorted(made.told)))
        if made.told[name] is None and back:
            return
        new = None if back else data.draw(st.floats(1, 9))
        self.tuner.tell(made.decision.id, {name: new}, correct=True)
        made.told[name] = None if new is None else [new, None, 1]

    @precondition(lambda self: self.made)
    @rule(metrics=st.sampled_from([{"x": 1.0}, {"latency": "y"}, {"sales": (1.0, -1.0)}]))
    def nonsense(self, metrics: Any) -> None:
        before = self.tuner.status().events
        with pytest.raises(tt.InvalidInput):
            self.tuner.tell(self.made[0].decision.id, metrics)
        with pytest.raises(tt.NotFound):
            self.tuner.tell("shop-999999", {})
        assert self.tuner.status().events == before

    # People and accidents.

    @rule(values=VALUES)
    def attach(self, values: dict[str, float]) -> None:
        self.tuner.attach(values)
        now = self.tuner.status().values
        for name, x in values.items():
            assert now[name] == pytest.approx(x, rel=1e-12, abs=1e-12)
        self.changed(dict(now), len(self.made) + 1, by_hand=True)

    @rule(values=VALUES)
    def override(self, values: dict[str, float]) -> None:
        self.tuner.override(values)

    @rule()
    def pause(self) -> None:
        self.tuner.pause()

    @rule()
    def resume(self) -> None:
        self.tuner.resume()

    @rule()
    def rollback(self) -> None:
        with suppress(tt.Conflict):  # no other good state is known
            self.tuner.rollback()

    @rule(minutes=st.sampled_from([1, 25, 70, 2000]))
    def wait(self, minutes: int) -> None:
        self.clock.wait(minutes=minutes)

    @rule()
    def crash(self) -> None:
        """The process is gone, another one goes on; it leaves nothing but the files."""
        self.opened()
        for client, held in self.open.items():
            ours = self.tuner._projection.tuner_state.clients.get(client or "")
            assert ours == int(held.decision.id.rpartition("-")[2])

    @rule(rounds=st.integers(2, 6), minutes=st.sampled_from([0, 40]))
    def tune(self, rounds: int, minutes: int) -> None:
        """A while in which all is well; without any time between, limits per hour are soon met."""
        for _ in range(rounds):
            self.ask(None)
            made = self.open[None]
            told = world(made.decision.values, np.random.default_rng(len(self.made)))
            told = {name: x for name, x in told.items() if name not in made.told}
            self.tuner.tell(made.decision.id, told)
            self.note(made, {name: [x, None, 1] for name, x in told.items()})
            self.clock.wait(minutes=minutes)

    def teardown(self) -> None:
        try:
            seen = [
                (SPEC.state(made.decision.values), {k: x for k, x in made.told.items() if x})
                for made in self.made
                if made.settled
            ]
            with tt.Tuner(SPEC, storage=str(self.folder / "a.db"), read_only=True) as other:
                assert (
                    other._projection.tuner_state.plain()
                    == self.tuner._projection.tuner_state.plain()
                )
                assert_same(matrices(other), direct(SPEC, seen))
            with open_journal(self.folder / "a.db", read_only=True) as journal:
                assert replay(journal, "shop").same
            Machine.played += 1
        finally:
            module.SNAPSHOT_EVERY = self.every
            for tuner in self.tuners:
                tuner.close()
            shutil.rmtree(self.folder)


class TestAnyOrder(Machine.TestCase):  # type: ignore[misc, valid-type]
    """The machine, as often as it says above."""

    settings = settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )

    def runTest(self) -> None:
        before = Machine.played
        super().runTest()
        assert Machine.played - before >= EXAMPLES


def walked(seed: int) -> Counter[tuple[str, bool]]:
    """The reasons of all decisions of a machine that a fixed generator plays."""
    rng, machine = np.random.default_rng(seed), Machine()
    try:
        for _ in range(WALK):
            step = rng.random()
            if step < 0.5:
                machine.tune(int(rng.integers(2, 7)), int(rng.choice([0, 40])))
            elif step < 0.7:
                machine.resume()
            elif step < 0.8:
                machine.ask(str(rng.choice(["a", "b"])))
            elif step < 0.85:
                machine.attach({"size": int(rng.integers(0, 11)), "mix": float(rng.random())})
            elif step < 0.9:
                machine.override({"ttl": float(rng.uniform(30, 3000))})
            else:
                (machine.rollback, machine.pause, machine.crash)[int(rng.integers(3))]()
    finally:
        machine.teardown()
    return machine.reasons


def test_everything_happens_in_walks_of_the_machine() -> None:
    """The same rules in an order that no library chooses: guards hold back all, and a part."""
    reasons: Counter[tuple[str, bool]] = sum(map(walked, range(WALKS)), Counter())
    for reason in ("guard", "manual", "rollback"):
        assert reasons[reason, False] >= 3, reasons
        assert reasons[reason, True] >= 3, reasons
    assert reasons["move", True] >= 3, reasons
    assert reasons["hold", False] >= 3, reasons
