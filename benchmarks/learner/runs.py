"""One run of the recommended policy in a world of the league, and what is measured of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

import trimtab as tt
from benchmarks.league.disturbed import HeavyTailed, Spiky
from benchmarks.league.live import ToldNothing
from benchmarks.league.match import Player, match
from benchmarks.league.place import Place
from benchmarks.league.surface import Surface
from benchmarks.league.worlds import SIGMA, drifting, regular, ring, settings
from trimtab.arrays import Array
from trimtab.parallel.blas import one_blas_thread
from trimtab.sim.worlds import Gaussian, World
from trimtab.sim.worlds.noise import Noise

EARLY = 20  # rounds in which no knob should go to an end of its range
THERE = 0.02  # of the range: how near the best state is to an end that a knob may go to
NOISES: Mapping[str, Noise] = {
    "none": Gaussian(SIGMA),
    "spikes": Spiky(SIGMA),
    "heavy tails": HeavyTailed(SIGMA),
}
CHANGES: Mapping[str, Callable[..., Place]] = {
    "degree 2, k = 10, one change": partial(drifting, graph=ring(10), price=3.0),
    "degree 3, k = 20, one change": partial(drifting, graph=regular(20, 3), price=3.0),
}


@dataclass(frozen=True)
class Job:
    """A run: worlds with one change have it in the middle."""

    world: str  # of the league, or one of CHANGES
    seed: int
    rounds: int
    noise: str = ""  # one of NOISES instead of the world's own
    delay: int = 0  # rounds until a loss is told
    alarm: bool = True  # whether the policy watches for changes


@dataclass(frozen=True)
class Run:
    """What is measured of a run. Losses are expected ones."""

    total: float  # loss above that of the best state, and price of the movement
    second_half: float  # the same from the middle on
    start: float  # loss of the start state above that of the best state, in one round
    rises: tuple[float, ...]  # by how much each move raises the loss, as a share of `start`
    ends: tuple[int, ...]  # knobs that went to an end early where the best state is elsewhere
    alarms: tuple[int, ...]  # rounds in which the alarm rang


class Watched:
    """The recommended policy as the league's *told nothing*; its path and its alarms are kept."""

    def __init__(self, place: Place, *, seed: int, alarm: bool) -> None:
        self._policy = tt.SteadyGraphLinUCB(
            place.problem, start=place.start, seed=seed, alarm=alarm
        )
        self.path: list[Array] = [place.start]
        self.alarms: list[int] = []

    def ask(self) -> Array:
        """The policy's state."""
        self.path.append(self._policy.ask())
        return self.path[-1]

    def tell(self, losses: Array, played: Array) -> None:
        """The losses of the state that was asked for last."""
        if self._policy.tell(losses).cause == "alarm":
            self.alarms.append(self._policy.rounds)


def play(job: Job) -> Run:
    """Play it; delayed losses are told as the league's player tells them."""
    with one_blas_thread():
        place = place_of(job)
        watched = Watched(place, seed=job.seed, alarm=job.alarm)
        player: Player = watched
        if job.delay:
            player = ToldNothing(place, horizon=job.rounds, seed=job.seed)
        score = match(player, place, horizon=job.rounds, seed=job.seed, delay=job.delay)
        now, _ = place.world.at(1)
        return Run(
            total=score.total,
            second_half=score.curve[-1] - score.curve[len(score.curve) // 2 - 1],
            start=now.loss(place.start) - now.optimum.value,
            rises=rises(place, watched.path),
            ends=ends(place, watched.path),
            alarms=tuple(watched.alarms),
        )


def place_of(job: Job) -> Place:
    """The world of a job's seed, with the job's noise."""
    if job.world in CHANGES:
        return CHANGES[job.world](job.seed, changes=[job.rounds // 2 + 1])
    found = {setting.name: setting for setting in settings(job.rounds)}[job.world]
    place = found.make(job.seed)
    return place if not job.noise else _disturbed(place, NOISES[job.noise])


def _disturbed(place: Place, noise: Noise) -> Place:
    """The same world with other noise."""
    if isinstance(place.world, Surface):
        return replace(place, world=replace(place.world, noise=noise))
    if not isinstance(place.world, World):
        raise TypeError(f"{type(place.world).__name__} has noise of its own; choose another world")
    world = copy(place.world)
    world.noise = noise
    return replace(place, world=world)


def rises(place: Place, path: list[Array]) -> tuple[float, ...]:
    """By how much each move raises the loss, as a share of what the start state is above the best.

    The world is taken as it is in the round before which the policy moved.
    """
    first, _ = place.world.at(1)
    unit = first.loss(place.start) - first.optimum.value
    found = []
    for t in range(1, len(path)):
        before, after = path[t - 1], path[t]
        if not np.array_equal(before, after):
            now, _ = place.world.at(t)
            found.append((now.loss(after) - now.loss(before)) / unit)
    return tuple(found)


def ends(place: Place, path: list[Array]) -> tuple[int, ...]:
    """The knobs that go to an end of their range early, though the best state is not there."""
    domain = place.problem.domain
    best = place.world.at(1)[0].optimum.state
    early = np.array(path[: EARLY + 1])
    found = np.zeros(place.problem.knobs, bool)
    for end in (domain.low, domain.high):
        gone = (early == end).any(axis=0) & (place.start != end)
        found |= gone & (np.abs(best - end) > THERE * (domain.high - domain.low))
    return tuple(np.flatnonzero(found).tolist())
