"""The product as an engineer meets it: a spec with ranges, the default policy, the guards."""

from __future__ import annotations

import shutil
import tempfile
from itertools import count
from pathlib import Path
from weakref import finalize

import numpy as np

import trimtab as tt
from benchmarks.league.place import Place
from benchmarks.league.recorded import Recorded
from trimtab.arrays import Array
from trimtab.live import Spec

STATES = 1000  # at which the ranges of the losses are looked at
STEP = 0.2  # max_step, in sides of the box
SETTLE = 1  # rounds after a move that are not learned from
MEMORY = Path("/dev/shm")  # a folder that waits for no disk
DELAY = 20  # the longest of any world


def ranges(place: Place) -> tuple[Array, Array]:
    """The smallest and the largest expected loss of each criterion over random states.

    This is what engineers can tell of their metrics, and what specs ask them for.
    """
    now, _ = place.world.at(1)
    rng = np.random.default_rng(2)
    means = np.array([now.mean(place.problem.domain.sample(rng)) for _ in range(STATES)])
    return means.min(axis=0), means.max(axis=0)


def spec_of(place: Place) -> Spec:
    """The spec of a place in the unit box: the example's own, or one with plain names.

    A knob moves by at most a fifth of its range at a time and settles for a round. An objective's
    weight undoes its range, so that the total is the place's but for a constant.
    """
    if place.spec is not None:
        return place.spec
    problem, (low, high) = place.problem, ranges(place)
    knobs = {
        f"knob_{j}": {
            "low": 0.0,
            "high": 1.0,
            "start": start,
            "stability": {"max_step": STEP, "stabilize_for": SETTLE, "move_cost": price},
        }
        for j, (start, price) in enumerate(
            zip(place.start.tolist(), problem.move_cost.tolist(), strict=True)
        )
    }
    objectives = {
        f"loss_{i}": {
            "knobs": [f"knob_{j}" for j in problem.graph.scope(i).tolist()],
            "low": float(low[i]),
            "high": float(high[i]),
            "weight": float(problem.weights[i] * (high[i] - low[i])),
        }
        for i in range(problem.criteria)
    }
    return Spec.from_dict({"name": "league", "knobs": knobs, "objectives": objectives})


class ToldNothing:
    """The recommended policy, told the problem and the start state alone; no guards."""

    def __init__(self, place: Place, *, horizon: int, seed: int) -> None:
        self._policy = tt.SteadyGraphLinUCB(place.problem, start=place.start, seed=seed)
        self._asked = self._late = False  # in this round; ever

    def ask(self) -> Array:
        """The policy's state; a round that was not told in time is one whose losses come later."""
        if self._asked:
            self._policy.tell(None)
            self._late = True
        self._asked = True
        return self._policy.ask()

    def tell(self, losses: Array, played: Array) -> None:
        """Losses of the last round, or of an earlier one if they come late."""
        if not self._late:
            self._asked = False
        self._policy.tell(losses, played=played if self._late else None)


class LiveTuner:
    """`tt.Tuner` with the default policy and guards on a journal; boxes only.

    Rounds whose losses are on their way are decisions of clients of their own.
    """

    def __init__(self, place: Place, *, horizon: int, seed: int) -> None:
        self._spec, self._place, self._seed = spec_of(place), place, seed
        folder = tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None)
        self._tuner = tt.Tuner(self._spec, storage=f"sqlite:///{folder}/journal.db", seed=seed)
        finalize(self, _ended, self._tuner, folder)
        self._asked, self._answered = count(1), count(1)
        self._open: dict[int, str] = {}  # decisions by round

    def ask(self) -> Array:
        """The state of a new decision."""
        t = next(self._asked)
        decision = self._tuner.ask(client_id=f"client-{t % (DELAY + 1)}")
        self._open[t] = decision.id
        return self._spec.state(decision.values)

    def tell(self, losses: Array, played: Array) -> None:
        """The metrics of the oldest decision that waits for them."""
        t = next(self._answered)
        self._tuner.tell(self._open.pop(t), self._metrics(losses, played, t))

    def _metrics(self, losses: Array, played: Array, t: int) -> dict[str, float]:
        """What was measured in round t: in a recorded system also what only guardrails read."""
        world = self._place.world
        if isinstance(world, Recorded):
            return world.measured(played, np.random.default_rng((self._seed, t)))
        names = (each.name for each in self._spec.objectives)
        return dict(zip(names, losses.tolist(), strict=True))


def _ended(tuner: tt.Tuner, folder: str) -> None:
    tuner.close()
    shutil.rmtree(folder)
