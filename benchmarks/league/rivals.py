"""What people use today, through ask and tell: they see the weighted total of a round's losses.

All of them search for a share of the horizon, hold every state for so many rounds, judge it by the
mean, and then stay with what they recommend. Share and rounds were chosen for them in a pilot:
README.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from benchmarks.league.worlds import Place
from trimtab.arrays import Array


class Total:
    """The weighted total of a round; a missing loss counts as that criterion's mean so far."""

    def __init__(self, weights: Array) -> None:
        self._weights = weights
        self._sums, self._seen = np.zeros(weights.size), np.zeros(weights.size)

    def of(self, losses: Array) -> float:
        """The total, NaN as long as some criterion has never been seen."""
        here = ~np.isnan(losses)
        self._sums[here] += losses[here]
        self._seen[here] += 1.0
        with np.errstate(invalid="ignore"):
            return float(self._weights @ np.where(here, losses, self._sums / self._seen))


class Searcher(ABC):
    """A rival that tries states one after the other, then stays with the one it recommends."""

    SHARE: ClassVar[float]  # of the horizon that it searches
    HOLD: ClassVar[int]  # rounds of a trial

    def __init__(self, place: Place, *, horizon: int, seed: int) -> None:
        self.domain = place.problem.domain
        self.low, self.width = self.domain.low, self.domain.high - self.domain.low
        self.k, self.seed = self.domain.knobs, seed
        self.rng = np.random.default_rng((seed, 21))
        self._total = Total(place.problem.weights)
        self._left = int(self.SHARE * horizon)  # rounds of search
        self._state, self._values = place.start, list[float]()
        self._searching, self._judged = True, False

    def ask(self) -> Array:
        """The state on trial, or the one recommended."""
        return self._state

    def tell(self, losses: Array, played: Array) -> None:
        """Collect the totals of the state on trial; when there are enough, go on to the next."""
        total = self._total.of(losses)
        if not self._searching:
            return
        self._left -= 1
        if np.array_equal(played, self._state) and not np.isnan(total):
            self._values.append(total)
        if len(self._values) < self.HOLD and self._left > 0:
            return
        if self._values:
            self.judge(float(np.mean(self._values)))
            self._judged = True
        self._searching = self._left > 0
        self._values = []
        if not self._judged:  # nothing is known, so nothing is better than the start
            return
        unit = self.suggest() if self._searching else self.recommend()
        self._state = self.domain.project(self.low + self.width * np.clip(unit, 0.0, 1.0))

    def unit(self, state: Array) -> Array:
        """A state in units of the domain's sides."""
        return np.asarray((state - self.low) / self.width)

    @abstractmethod
    def judge(self, value: float) -> None:
        """Learn the mean total of the state on trial."""

    @abstractmethod
    def suggest(self) -> Array:
        """The next state to try, in [0, 1]^k."""

    @abstractmethod
    def recommend(self) -> Array:
        """The state to stay with, in [0, 1]^k."""


class HillClimbing(Searcher):
    """One knob up or down at a time; what is better on trial is kept, otherwise taken back."""

    SHARE, HOLD = 0.3, 25
    STEP, LONGER, SHORTER = 0.25, 1.3, 0.8

    def __init__(self, place: Place, *, horizon: int, seed: int) -> None:
        super().__init__(place, horizon=horizon, seed=seed)
        self._best, self._least = self.unit(place.start), np.inf
        self._steps = np.full(self.k, self.STEP)
        self._tried, self._on_trial = -1, self._best

    def judge(self, value: float) -> None:
        """Keep the better state, and try longer or shorter steps of this knob."""
        better = value < self._least
        if better:
            self._best, self._least = self._on_trial, value
        if self._tried >= 0:
            self._steps[self._tried] *= self.LONGER if better else -self.SHORTER

    def suggest(self) -> Array:
        """The best state with one knob moved."""
        self._tried = int(self.rng.integers(self.k))
        self._on_trial = self._best.copy()
        moved = self._best[self._tried] + self._steps[self._tried]
        self._on_trial[self._tried] = np.clip(moved, 0.0, 1.0)
        return self._on_trial

    def recommend(self) -> Array:
        """The best state."""
        return self._best


class SPSA(Searcher):
    """Simultaneous perturbation: a gradient from two trials, with Spall's gains."""

    SHARE, HOLD = 0.1, 10
    C, FIRST, ALPHA, GAMMA = 0.1, 0.1, 0.602, 0.101

    def __init__(self, place: Place, *, horizon: int, seed: int) -> None:
        super().__init__(place, horizon=horizon, seed=seed)
        self._x = self.unit(place.start)
        self._offset = 0.1 * self._left / (2 * self.HOLD)  # Spall's A: a tenth of the iterations
        self._n, self._sign, self._plus = 0, 0.0, 0.0
        self._delta, self._gain = np.ones(self.k), 0.0

    def judge(self, value: float) -> None:
        """After the second trial: a step against the gradient."""
        if self._sign > 0.0:
            self._plus = value
        elif self._sign < 0.0:
            c = self.C / (self._n + 1) ** self.GAMMA
            slope = (self._plus - value) / (2.0 * c) * self._delta
            if not self._gain and slope.any():  # the first step is as long as wanted
                self._gain = self.FIRST * (1 + self._offset) ** self.ALPHA / np.abs(slope).mean()
            rate = self._gain / (self._n + 1 + self._offset) ** self.ALPHA
            self._x = np.clip(self._x - rate * slope, 0.0, 1.0)
            self._n += 1

    def suggest(self) -> Array:
        """The point with all knobs moved a little, then the opposite."""
        if self._sign <= 0.0:
            self._sign = 1.0
            self._delta = self.rng.choice([-1.0, 1.0], self.k)
        else:
            self._sign = -1.0
        c = self.C / (self._n + 1) ** self.GAMMA
        return np.asarray(self._x + self._sign * c * self._delta)

    def recommend(self) -> Array:
        """The point itself."""
        return self._x


class CMAES(Searcher):
    """`cmaes`, CyberAgent's CMA-ES, from the start state with a standard deviation of 0.2."""

    SHARE, HOLD = 0.1, 5

    def __init__(self, place: Place, *, horizon: int, seed: int) -> None:
        super().__init__(place, horizon=horizon, seed=seed)
        spare = [0.5] * (self.k == 1)  # cmaes wants two dimensions; the second one does nothing
        mean = np.append(self.unit(place.start), spare)
        self._cma = import_module("cmaes").CMA(
            mean=mean,
            sigma=0.2,
            bounds=np.tile([0.0, 1.0], (mean.size, 1)),
            seed=seed,
        )
        self._asked: Array | None = None
        self._told: list[tuple[Array, float]] = []

    def judge(self, value: float) -> None:
        """Hand a whole population over when it is complete."""
        if self._asked is not None:
            self._told.append((self._asked, value))
        if len(self._told) == self._cma.population_size:
            self._cma.tell(self._told)
            self._told = []

    def suggest(self) -> Array:
        """The next of the population."""
        self._asked = np.asarray(self._cma.ask())
        return np.asarray(self._asked[: self.k])

    def recommend(self) -> Array:
        """The mean of the distribution."""
        return np.asarray(self._cma.mean)[: self.k]


class Optuna(Searcher):
    """Optuna with one of its samplers; recommends the best trial. The first trial is the start."""

    SHARE, HOLD = 0.2, 10
    sampler = "TPESampler"

    def __init__(self, place: Place, *, horizon: int, seed: int) -> None:
        super().__init__(place, horizon=horizon, seed=seed)
        optuna = import_module("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._study = optuna.create_study(sampler=self._made(optuna.samplers))
        space = {f"x{j}": optuna.distributions.FloatDistribution(0.0, 1.0) for j in range(self.k)}
        self._space = space
        first = {name: float(x) for name, x in zip(space, self.unit(place.start), strict=True)}
        self._study.enqueue_trial(first)
        self._trial = self._study.ask(space)

    def _made(self, samplers: Any) -> Any:
        return getattr(samplers, self.sampler)(seed=self.seed)

    def judge(self, value: float) -> None:
        """Tell the trial's value."""
        self._study.tell(self._trial, value)

    def suggest(self) -> Array:
        """The next trial."""
        self._trial = self._study.ask(self._space)
        return np.array([self._trial.params[name] for name in self._space])

    def recommend(self) -> Array:
        """The best trial."""
        return np.array([self._study.best_params[name] for name in self._space])


class OptunaCMA(Optuna):
    """Optuna's CMA-ES sampler."""

    SHARE, HOLD = 0.2, 5
    sampler = "CmaEsSampler"


class OptunaGP(Optuna):
    """Optuna's Gaussian processes; longer trials than TPE's, since they are slow."""

    SHARE, HOLD = 0.2, 25
    sampler = "GPSampler"
