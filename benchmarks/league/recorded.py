"""Worlds made of recordings of real systems: smoothed means, and the noise of real windows."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks.league.place import Place, Setting
from benchmarks.league.smoother import Smoother, smoothed
from benchmarks.league.surface import searched
from benchmarks.proving.recording import Recording
from trimtab.arrays import Array, Ints
from trimtab.live import Spec
from trimtab.solve import Solution

FOLDER = Path(__file__).resolve().parent / "recordings"
EXAMPLES = FOLDER.parents[2] / "examples"
SYSTEMS = ("cache-service", "log-shipper")
QUIET = 1e-3  # the least noise that is told: some metrics are settings, and have none
RATIO = 5.0  # a metric that varies by more is smoothed on a log scale


class Recorded:
    """A system that was recorded: every metric at any state, and noise as it was.

    The mean of a metric is smooth in the knobs. Noise is one whole window of the recording: what
    all its metrics missed together, in units of the usual miss at its state, is scaled to the
    state at hand. So a moment in which the machine did something else hits all metrics at once.

    Args:
        recording: settled windows at many states.
        spec: which metrics are objectives, their ranges and weights, and the prices of moves.
    """

    def __init__(self, recording: Recording, spec: Spec) -> None:
        self.spec, self.problem = spec, spec.problem
        self.metrics = recording.metrics
        rows = recording.settled & np.isfinite(recording.values).all(axis=1)
        states, values, visit = recording.states[rows], recording.values[rows], recording.number
        self._logarithmic = (values.min(axis=0) > 0.0) & (
            values.max(axis=0) > RATIO * values.min(axis=0)
        )
        first, place = np.unique(visit[rows], return_index=True, return_inverse=True)[1:]
        middles = np.array([np.median(values[place == v], axis=0) for v in range(first.size)])
        seen, missed = states[first], _unbiased(values - middles[place], values, place)
        middles[:, self._logarithmic] = np.log(middles[:, self._logarithmic])
        self.centres: list[Smoother] = smoothed(*_distinct(seen, middles))
        least = 1e-3 * np.abs(missed).mean(axis=0) + 1e-12
        sizes = [np.abs(missed[place == v]).mean(axis=0) for v in range(first.size)]
        self._sizes = smoothed(*_distinct(seen, np.log(np.maximum(sizes, least))))
        misses = missed / self._size(states)
        self._offset = misses.mean(axis=0)  # spikes go up, so that the middle is not the mean
        self.misses = misses - self._offset  # (windows, metrics)
        ends = [
            (each.low, each.high, each.loss(each.low), each.loss(each.high))
            for each in spec.objectives
        ]
        low, high, at_low, at_high = np.array(ends).T
        self._slope = (at_high - at_low) / (high - low)
        self._shift = at_low - self._slope * low
        self._objectives = [self.metrics.index(each.name) for each in spec.objectives]
        self._known: tuple[bytes, Array, Array] = b"", np.empty(0), np.empty(0)

    # The system.

    def measured(self, state: Array, rng: np.random.Generator) -> dict[str, float]:
        """All metrics of one window, by name and in their units."""
        return dict(zip(self.metrics, self._window(state, rng).tolist(), strict=True))

    def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
        """The losses of one window: (m,)."""
        return np.asarray(self._losses(self._window(state, rng)[None])[0])

    def means(self, states: Array) -> Array:
        """The expected losses at states (n, k): (n, m)."""
        return self._losses(self._centre(states) + self._offset * self._size(states))

    def mean(self, state: Array) -> Array:
        """The expected loss of each objective: (m,)."""
        return np.asarray(self.means(state[None])[0])

    def loss(self, state: Array) -> float:
        """The expected total loss, weights included."""
        return float(self.problem.weights @ self.mean(state))

    def spread(self, state: Array) -> Array:
        """The standard deviation of each loss at a state: (m,)."""
        noise = self.misses * self._size(state[None])
        return np.asarray(np.abs(self._slope) * noise[:, self._objectives].std(axis=0))

    def at(self, t: int) -> tuple[Recorded, int | None]:
        """It never changes."""
        return self, None

    @property
    def optimum(self) -> Solution:
        """The best state that a search finds."""
        return _optimum(self)

    def _window(self, state: Array, rng: np.random.Generator) -> Array:
        key = state.tobytes()
        if key != self._known[0]:  # a state is played for many rounds
            size = self._size(state[None])[0]
            self._known = key, self._centre(state[None])[0] + self._offset * size, size
        _, mean, size = self._known
        return np.asarray(mean + size * self.misses[rng.integers(len(self.misses))])

    def _centre(self, states: Array) -> Array:
        found = np.stack([smoother(states) for smoother in self.centres], axis=1)
        found[:, self._logarithmic] = np.exp(found[:, self._logarithmic])
        return found

    def _size(self, states: Array) -> Array:
        return np.exp(np.stack([smoother(states) for smoother in self._sizes], axis=1))

    def _losses(self, values: Array) -> Array:
        return np.asarray(self._shift + self._slope * values[:, self._objectives])


def _unbiased(missed: Array, values: Array, place: Ints) -> Array:
    """What windows missed the middle of their visit by, enlarged: few windows are close to it."""
    n = np.bincount(place).astype(np.float64)
    sums, squares = (
        np.stack([np.bincount(place, x) for x in columns.T], axis=1)
        for columns in (values, values**2)
    )
    within = np.maximum(squares - sums**2 / n[:, None], 0.0).sum(axis=0) / (n - 1.0).sum()
    return np.asarray(missed * np.sqrt(within / np.maximum((missed**2).mean(axis=0), 1e-300)))


def _distinct(states: Array, values: Array) -> tuple[Array, Array]:
    """Every state once, with the median of its visits."""
    found, place = np.unique(states, axis=0, return_inverse=True)
    return found, np.array([np.median(values[place == v], axis=0) for v in range(len(found))])


@cache
def _optimum(world: Recorded) -> Solution:
    return searched(world.problem, world.means)


@cache
def recorded(system: str) -> Recorded:
    """The world of a system's recording."""
    return Recorded(
        Recording.read(FOLDER / f"{system}.csv.gz"), Spec.read(EXAMPLES / system / "spec.toml")
    )


def place(seed: int, *, system: str) -> Place:
    """The system at the start of its spec; seeds differ in the noise alone."""
    world = recorded(system)
    start = world.spec.start
    sigma = np.maximum(world.spread(start), QUIET)
    return Place(world, world.problem, start, sigma, world.spec)


def settings() -> tuple[Setting, ...]:
    """The recorded worlds of the league."""
    return tuple(
        Setting(
            f"{system}, recorded",
            partial(place, system=system),
            holds=False,
            why="it is a real system",
            small=True,
            files=("recorded.py", "smoother.py", "surface.py", f"recordings/{system}.csv.gz"),
        )
        for system in SYSTEMS
        if (FOLDER / f"{system}.csv.gz").exists()
    )
