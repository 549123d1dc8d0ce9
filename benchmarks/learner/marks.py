"""What is asked of the recommended policy, one function per section, and whether it is met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.league.recorded import settings as recorded
from benchmarks.league.standings import interval
from benchmarks.learner.runs import CHANGES, EARLY, Job, Run
from trimtab.arrays import Array

Play = Callable[[Sequence[Job]], list[Run]]

FIRST = 500  # seed: neither the league's (from 100 on) nor those of training (from 900 on)
RISE, RISES = 0.05, 0.1  # a move that raises the loss by more is harmful; how many may be
DEARER = 1.15  # what a disturbance or a delay may cost
QUIET_RUNS, MISFIT_RUNS = 20, 10  # in which the alarm may ring once
CHANGED = 0.5  # of what is paid without alarm after a change
DELAY = 20  # rounds
REAL = ("recommender", *(setting.name for setting in recorded()))
FITTING = ("recommender", "degree 2, k = 10, cheap", "degree 3, k = 20", "saturation")
SPIKY = ("recommender", "degree 3, k = 20")
SHAPES = ("saturation", "cliff", "plateau, one valley", "two valleys")
DELAYED = ("recommender", "degree 2, k = 10, cheap", "delay of 20")


@dataclass(frozen=True)
class Size:
    """How much is played."""

    seeds: int = 20
    rounds: int = 300
    stationary: int = 10_000  # rounds in which the alarm should keep quiet
    misfit: tuple[int, ...] = (1_000, 5_000)  # rounds in worlds that the basis does not fit
    changing: tuple[int, ...] = (300, 1_000, 3_000)  # rounds, with a change in the middle


SHORT = Size(seeds=1, rounds=30, stationary=60, misfit=(40,), changing=(60,))


@dataclass(frozen=True)
class Mark:
    """One figure, and the most it may be."""

    what: str
    conditions: str
    figure: float
    limit: float
    shown: str  # the figure with its interval or its parts

    @property
    def met(self) -> bool:
        """Whether the figure is within its limit; an unknown one is not."""
        return self.figure <= self.limit


def moves(play: Play, size: Size) -> list[Mark]:
    """Harmful moves, and knobs that go to the end of their range early."""
    found = []
    for world in REAL:
        runs = play(_jobs(world, size.seeds, size.rounds))
        conditions = _conditions(world, size.seeds, size.rounds)
        rises = np.array([rise for run in runs for rise in run.rises])
        harmful = int((rises > RISE).sum())
        share = harmful / rises.size if rises.size else 0.0
        found.append(
            Mark(
                f"moves that raise the loss by more than {RISE:.0%} of (start - optimum)",
                conditions,
                share,
                RISES,
                f"{share:.1%} ({harmful} of {rises.size})",
            )
        )
        gone = sum(len(run.ends) for run in runs)
        found.append(
            Mark(
                f"knobs at an end of their range within {EARLY} rounds, the optimum elsewhere",
                conditions,
                gone,
                0,
                f"{gone} in {sum(bool(run.ends) for run in runs)} runs",
            )
        )
    return found


def outliers(play: Play, size: Size) -> list[Mark]:
    """What spikes and heavy tails cost, against normal noise with the same seeds."""
    found = []
    for world in FITTING:
        clean = _totals(play(_jobs(world, size.seeds, size.rounds, noise="none")))
        for noise in ("spikes", "heavy tails"):
            dirty = _totals(play(_jobs(world, size.seeds, size.rounds, noise=noise)))
            conditions = _conditions(world, size.seeds, size.rounds)
            found.append(_ratio(f"cost with {noise} / without", conditions, dirty, clean, DEARER))
    return found


def false_alarms(play: Play, size: Size) -> list[Mark]:
    """Alarms in worlds that never change: with spikes, and where the basis does not fit."""
    found = []
    for world in SPIKY:
        runs = play(_jobs(world, size.seeds, size.stationary, noise="spikes"))
        conditions = _conditions(f"{world}, spikes", size.seeds, size.stationary)
        found.append(_alarms(conditions, runs, size.stationary, QUIET_RUNS))
    for world in SHAPES:
        runs = play(_jobs(world, size.seeds, max(size.misfit)))  # the horizon is not told
        for rounds in size.misfit:
            conditions = _conditions(world, size.seeds, rounds)
            found.append(_alarms(conditions, runs, rounds, MISFIT_RUNS))
    return found


def changes(play: Play, size: Size) -> list[Mark]:
    """What is paid after a change, against the same policy without alarm."""
    found = []
    for world in CHANGES:
        for rounds in size.changing:
            watching, deaf = (
                np.array(
                    [run.second_half for run in play(_jobs(world, size.seeds, rounds, alarm=alarm))]
                )
                for alarm in (True, False)
            )
            conditions = _conditions(f"{world} in the middle", size.seeds, rounds)
            what = "cost after the change / without alarm"
            found.append(_ratio(what, conditions, watching, deaf, CHANGED))
    return found


def delays(play: Play, size: Size) -> list[Mark]:
    """What late losses cost beyond as many rounds at the start state."""
    found = []
    for world in DELAYED:
        prompt = play(_jobs(world, size.seeds, size.rounds))
        late = _totals(play(_jobs(world, size.seeds, size.rounds, delay=DELAY)))
        waited = late - DELAY * np.array([run.start for run in prompt])
        conditions = _conditions(world, size.seeds, size.rounds)
        what = f"(cost with a delay of {DELAY} - {DELAY} rounds at the start) / without delay"
        found.append(_ratio(what, conditions, waited, _totals(prompt), DEARER))
    return found


SECTIONS: dict[str, Callable[[Play, Size], list[Mark]]] = {
    "moves": moves,
    "outliers": outliers,
    "false-alarms": false_alarms,
    "changes": changes,
    "delays": delays,
}


def table(marks: Sequence[Mark]) -> str:
    """All marks, the figures that miss in bold."""
    lines = ["| mark | world, seeds, rounds | figure | at most | |", "|---|---|--:|--:|---|"]
    for mark in marks:
        shown, verdict = (mark.shown, "pass") if mark.met else (f"**{mark.shown}**", "**miss**")
        lines.append(f"| {mark.what} | {mark.conditions} | {shown} | {mark.limit:g} | {verdict} |")
    return "\n".join(lines)


def _jobs(
    world: str, seeds: int, rounds: int, *, noise: str = "", delay: int = 0, alarm: bool = True
) -> list[Job]:
    return [
        Job(world, seed, rounds, noise=noise, delay=delay, alarm=alarm)
        for seed in range(FIRST, FIRST + seeds)
    ]


def _conditions(world: str, seeds: int, rounds: int) -> str:
    return f"{world}; {seeds} seed{'s' * (seeds != 1)}; {rounds:,} rounds"


def _totals(runs: Sequence[Run]) -> Array:
    return np.array([run.total for run in runs])


def _ratio(what: str, conditions: str, mine: Array, other: Array, limit: float) -> Mark:
    """The ratio of sums, with the paired 95 % interval."""
    found = interval(1.0 + (mine - other) / other.mean())
    return Mark(what, conditions, found.mean, limit, str(found))


def _alarms(conditions: str, runs: Sequence[Run], rounds: int, quiet: int) -> Mark:
    """How often the alarm rang up to a round; once in `quiet` runs is allowed."""
    rung = sum(t <= rounds for run in runs for t in run.alarms)
    what = f"alarms; one in {quiet} runs is allowed"
    return Mark(what, conditions, rung, len(runs) / quiet, f"{rung}")
