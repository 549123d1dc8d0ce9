"""What people use today, through ask and tell: they see the weighted total of a round's losses.

All of them search for a share of the horizon, hold every state for a fixed number of rounds, judge
it by the mean, and then stay with what they recommend. Share, rounds and options were chosen for
them, for each horizon: plans.py, pilot.py.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from benchmarks.league.place import Place
from benchmarks.league.plans import Plan, planned
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

    name: ClassVar[str]  # its row of PLANS
    what: ClassVar[str]  # it is, in a line
    needs: ClassVar[tuple[str, ...]] = ()  # packages
    slow: ClassVar[bool] = False  # plays in small worlds only
    DEFAULTS: ClassVar[dict[str, float]] = {}  # options, unless the plan says otherwise

    def __init__(self, place: Place, *, horizon: int, seed: int, plan: Plan | None = None) -> None:
        self.plan = planned(self.name, horizon) if plan is None else plan
        self.share, self.hold = self.plan.share, self.plan.hold
        self.options = {**self.DEFAULTS, **self.plan.options}
        self.domain = place.problem.domain
        self.low, self.width = self.domain.low, self.domain.high - self.domain.low
        self.k, self.seed = self.domain.knobs, seed
        self.rng = np.random.default_rng((seed, 21))
        self._total = Total(place.problem.weights)
        self._left = self.search = int(self.share * horizon + 1e-9)  # rounds of search
        self._start = self._state = place.start
        self._values = list[float]()
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
        if len(self._values) < self.hold and self._left > 0:
            return
        if self._values:
            self.judge(float(np.mean(self._values)))
            self._judged = True
        self._searching = self._left > 0
        self._values = []
        if self._judged:
            self.go(self.suggest() if self._searching else self.recommend())
        elif not self._searching:  # nothing is known, so nothing is better than the start
            self._state = self._start

    def go(self, unit: Array) -> None:
        """Play the state of the domain that is nearest to this one of [0, 1]^k."""
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

    name = "hill climbing"
    what = "one knob at a time, step adapted to success"
    DEFAULTS: ClassVar = {"step": 0.25, "longer": 1.3, "shorter": 0.8}

    def __init__(self, place: Place, *, horizon: int, seed: int, plan: Plan | None = None) -> None:
        super().__init__(place, horizon=horizon, seed=seed, plan=plan)
        self._best, self._least = self.unit(place.start), np.inf
        self._steps = np.full(self.k, self.options["step"])
        self._tried, self._on_trial = -1, self._best

    def judge(self, value: float) -> None:
        """Keep the better state, and try longer or shorter steps of this knob."""
        better = value < self._least
        if better:
            self._best, self._least = self._on_trial, value
        if self._tried >= 0:
            self._steps[self._tried] *= (
                self.options["longer"] if better else -self.options["shorter"]
            )

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

    name = "SPSA"
    what = "Spall's gains; stays with the point"
    DEFAULTS: ClassVar = {"perturbation": 0.1, "first": 0.1}
    ALPHA, GAMMA = 0.602, 0.101

    def __init__(self, place: Place, *, horizon: int, seed: int, plan: Plan | None = None) -> None:
        super().__init__(place, horizon=horizon, seed=seed, plan=plan)
        self._x = self.unit(place.start)
        self._offset = 0.1 * self.search / (2 * self.hold)  # Spall's A: a tenth of the iterations
        self._n, self._sign, self._plus = 0, 0.0, 0.0
        self._delta, self._gain = np.ones(self.k), 0.0
        self.go(self.suggest())

    def judge(self, value: float) -> None:
        """After the second trial: a step against the gradient."""
        if self._sign > 0.0:
            self._plus = value
            return
        slope = (self._plus - value) / (2.0 * self._c()) * self._delta
        if not self._gain and slope.any():  # the first step is as long as wanted
            first = self.options["first"]
            self._gain = first * (1 + self._offset) ** self.ALPHA / np.abs(slope).mean()
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
        return np.asarray(self._x + self._sign * self._c() * self._delta)

    def recommend(self) -> Array:
        """The point itself."""
        return self._x

    def _c(self) -> float:
        return float(self.options["perturbation"] / (self._n + 1) ** self.GAMMA)


class CMAES(Searcher):
    """`cmaes`, CyberAgent's CMA-ES, `near` the start state or from the middle of the domain.

    A population of 0 is the package's.
    """

    name = "cmaes"
    what = "stays with the mean"
    needs = ("cmaes",)
    DEFAULTS: ClassVar = {"near": 1, "sigma": 0.2, "population": 0}

    def __init__(self, place: Place, *, horizon: int, seed: int, plan: Plan | None = None) -> None:
        super().__init__(place, horizon=horizon, seed=seed, plan=plan)
        spare = [0.5] * (self.k == 1)  # cmaes wants two dimensions; the second one does nothing
        first = self.unit(place.start) if self.options["near"] else np.full(self.k, 0.5)
        mean = np.append(first, spare)
        self._cma = import_module("cmaes").CMA(
            mean=mean,
            sigma=self.options["sigma"],
            bounds=np.tile([0.0, 1.0], (mean.size, 1)),
            population_size=int(self.options["population"]) or None,
            seed=seed,
        )
        self._asked = mean
        self._told: list[tuple[Array, float]] = []
        self.go(self.suggest())

    def judge(self, value: float) -> None:
        """Hand a whole population over when it is complete."""
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


class Study(Searcher, ABC):
    """Optuna with one of its samplers; recommends the best trial.

    The first trial is the start; with `middle`, the second one is the middle of the domain.
    """

    def __init__(self, place: Place, *, horizon: int, seed: int, plan: Plan | None = None) -> None:
        super().__init__(place, horizon=horizon, seed=seed, plan=plan)
        optuna = import_module("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        space = {f"x{j}": optuna.distributions.FloatDistribution(0.0, 1.0) for j in range(self.k)}
        self._space = space
        first = {name: float(x) for name, x in zip(space, self.unit(place.start), strict=True)}
        with warnings.catch_warnings():  # multivariate TPE is experimental
            warnings.simplefilter("ignore")
            self._study = optuna.create_study(sampler=self.sampler(optuna.samplers, first))
        self._study.enqueue_trial(first)
        if self.options.get("middle"):
            self._study.enqueue_trial(dict.fromkeys(space, 0.5))
        self._trial = self._study.ask(space)

    @abstractmethod
    def sampler(self, samplers: Any, first: dict[str, float]) -> Any:
        """The sampler, for a study that begins with the given trial."""

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


class Optuna(Study):
    """Optuna's TPE; `startup` counts the random trials, `multivariate` is one for one density."""

    name = "Optuna TPE"
    what = "the start is the first trial; stays with the best trial"
    needs = ("optuna",)
    DEFAULTS: ClassVar = {"middle": 0, "startup": 10, "multivariate": 0}

    def sampler(self, samplers: Any, first: dict[str, float]) -> Any:
        """`TPESampler`."""
        return samplers.TPESampler(
            n_startup_trials=int(self.options["startup"]),
            multivariate=bool(self.options["multivariate"]),
            seed=self.seed,
        )


class OptunaCMA(Study):
    """Optuna's CMA-ES; begins in the middle or, with `near`, at the start; zeros are defaults.

    A single knob is left to TPE, since the sampler would draw it at random.
    """

    name = "Optuna CMA-ES"
    what = "the same, from the middle of the domain"
    needs = ("optuna", "cmaes")
    DEFAULTS: ClassVar = {"near": 0, "sigma": 0, "population": 0}

    def sampler(self, samplers: Any, first: dict[str, float]) -> Any:
        """`CmaEsSampler`."""
        if self.k == 1:
            return samplers.TPESampler(seed=self.seed)
        return samplers.CmaEsSampler(
            x0=first if self.options["near"] else None,
            sigma0=self.options["sigma"] or None,
            popsize=int(self.options["population"]) or None,
            seed=self.seed,
        )


class OptunaGP(Study):
    """Optuna's Gaussian processes; `startup` counts the random trials."""

    name = "Optuna GP"
    what = "the start is the first trial; stays with the best trial"
    needs = ("optuna", "torch")
    slow = True
    DEFAULTS: ClassVar = {"middle": 0, "startup": 10}

    def sampler(self, samplers: Any, first: dict[str, float]) -> Any:
        """`GPSampler`."""
        return samplers.GPSampler(n_startup_trials=int(self.options["startup"]), seed=self.seed)
