"""A simulated system: what the losses would be, at any state."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, number, read_only, vector
from trimtab.display import displayed
from trimtab.errors import InvalidInput
from trimtab.model.bases.features import spans
from trimtab.model.problem import Problem
from trimtab.sim.worlds.noise import Noise, Recorded
from trimtab.sim.worlds.search import search
from trimtab.solve import Bound, Solution, solve

OPTIMUM_EFFORT = 4.0
FOLLOWS = {"loss": "mean", "expected": "mean", "without_sums": "draw"}  # from what, if not itself
ASKED = {"mean": 1, "draw": 3, "at": 1}  # how many arguments each is called with


@displayed
class World:
    """A system whose expected losses are linear in the problem's features, Eq. (1).

    A subclass may override `mean` (expected losses that are no sum of features), `draw` (what is
    observed), `optimum`, `norms` and `at`; docs/adding-a-world.md has an example, and a
    table of what follows from each. What contradicts itself is refused, at the latest by `play`.

    >>> import trimtab as tt
    >>> world = tt.worlds.linear(tt.Graph.complete(3), seed=1)
    >>> rng = np.random.default_rng(0)
    >>> world.draw(np.full(3, 0.5), rng).shape
    (3,)

    Args:
        problem: gives the features.
        theta: the true parameter of each criterion; not needed where `mean` is overridden.
        noise: what is added to every loss.
        missing: the probability that a criterion's loss is not observed in a round.
    """

    overrides: ClassVar[frozenset[str]] = frozenset()  # of those that a subclass may override
    unbiased: bool = True  # False says that `draw` is off from `mean` on average, on purpose

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem.graph!r}, noise={self.noise!r})"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, source in FOLLOWS.items():
            if getattr(cls, name) is not getattr(World, name):
                raise InvalidInput(
                    f"{cls.__name__} overrides {name}, which follows from {source}; "
                    f"override {source} instead"
                )
        names = ("mean", "draw", "optimum", "norms", "at")
        cls.overrides = frozenset(
            name
            for name in names
            if inspect.getattr_static(cls, name) is not inspect.getattr_static(World, name)
        )
        for name in cls.overrides & ASKED.keys():
            method = inspect.getattr_static(cls, name)
            if not inspect.isfunction(method):
                raise InvalidInput(f"{cls.__name__}.{name} must be a plain method")
            try:
                inspect.signature(method).bind(None, *range(ASKED[name]))
            except TypeError as error:
                raise InvalidInput(
                    f"{cls.__name__}.{name}{inspect.signature(method)}: {error}; "
                    f"it is called as World.{name}{inspect.signature(getattr(World, name))}"
                ) from None

    def __init__(
        self,
        problem: Problem,
        *,
        noise: Noise,
        theta: Sequence[ArrayLike] | None = None,
        missing: float = 0.0,
    ) -> None:
        if not hasattr(noise, "draw"):
            raise InvalidInput(f"noise = {noise!r}; say which, for example Gaussian({noise!r})")
        if theta is None and "mean" not in self.overrides:
            raise InvalidInput("theta is missing; give it, or override mean in a subclass")
        self._theta = None if theta is None else _parameters(problem, theta)
        self.problem, self.noise = problem, noise
        self.missing = number(missing, "missing", low=0.0, strict=False, high=1.0)
        self.noise.scales(problem.graph)  # refuses scales that do not fit
        self._drawn: tuple[tuple[tuple[int, ...], bytes], Array] = ((), b""), np.empty(0)
        if self.missing and isinstance(noise, Recorded):
            raise InvalidInput("missing with Recorded noise; put NaN into its table instead")

    @property
    def theta(self) -> Array:
        """The true parameters of all criteria, one after the other: (sum d,)."""
        if self._theta is None:
            raise InvalidInput(
                f"{type(self).__name__} was made without theta: its losses are what its mean says"
            )
        return self._theta

    def mean(self, state: Array) -> Array:
        """The expected loss of each criterion at a state: (m,). It is the same in every call."""
        return self._linear(state, self.problem.all_criteria)

    def expected(self, state: Array, criteria: Ints | None = None) -> Array:
        """What `mean` gives, or the part of it asked for, once it is known to be one.

        Raises:
            InvalidInput: the state has another shape, or an overridden `mean` gives another one.
        """
        if "mean" not in self.overrides:
            return self._linear(state, self.problem.all_criteria if criteria is None else criteria)
        self._check_shape(state)
        losses = np.array(self.mean(state), np.float64)
        if losses.shape != (self.problem.criteria,) or not np.isfinite(losses).all():
            raise InvalidInput(
                f"{type(self).__name__}.mean gives {losses!r} at {state}; "
                f"give {self.problem.criteria} numbers, one per criterion"
            )
        return losses if criteria is None else np.asarray(losses[criteria])

    def loss(self, state: Array) -> float:
        """The expected total loss L(s), weights included."""
        return float(self.problem.weights @ self.expected(state))

    def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
        """The losses observed in round t, NaN where one is missing: (m,)."""
        key = state.shape, state.tobytes()
        if key != self._drawn[0]:  # a state is played for many rounds
            self._drawn = key, self.expected(state)
        losses = self._drawn[1] + self.noise.draw(rng, self.problem.graph, t)
        if self.missing:
            losses[rng.random(losses.size) < self.missing] = np.nan
        return losses

    def at(self, t: int) -> tuple[World, int | None]:
        """The world as it is in round t, and the last round in which it will be so, if any."""
        return self, None

    @property
    def norms(self) -> Array:
        """The length of each criterion's parameter, what `Confidence` calls norm: (m,)."""
        if "mean" in self.overrides:
            raise InvalidInput(
                f"{type(self).__name__} overrides mean, so that theta does not say how long the "
                "parameters are; override norms as well, for example by a fit to mean"
            )
        return lengths(self.problem, self.theta)

    @cached_property
    def optimum(self) -> Solution:
        """The best fixed state, by the policies' own solver with nothing left to explore.

        Where `mean` is overridden it is the best state that `search` finds, with its gap where all
        states could be tried and without one otherwise.
        """
        if "mean" in self.overrides:
            return search(self.loss, self.problem.domain).solution
        known = Bound.of_parameters(self.problem, self.theta)
        return solve(known, self.problem.domain.anchor, effort=OPTIMUM_EFFORT)

    def without_sums(self) -> str:
        """Why the losses of many rounds cannot be drawn at once; empty if they can."""
        if "draw" in self.overrides:
            return f"{type(self).__name__} overrides draw, and only draw knows what a round gives"
        if "at" in self.overrides:
            return f"{type(self).__name__} overrides at, so that nobody knows its rounds beforehand"
        if isinstance(self.noise, Recorded):
            return ""
        if not hasattr(self.noise, "sums"):
            return f"the sum of many rounds of {type(self.noise).__name__} noise cannot be drawn"
        return "losses are missing at random" if self.missing else ""

    def _check_shape(self, state: Array) -> None:
        if state.shape != (self.problem.knobs,):
            raise InvalidInput(
                f"state has shape {state.shape}, expected ({self.problem.knobs},); "
                "give one value per knob"
            )

    def _linear(self, state: Array, criteria: Ints) -> Array:
        self._check_shape(state)
        phi, dims = np.empty(self.theta.size), self.problem.dims[criteria]
        self.problem.features.fill(phi, state, criteria)
        mine = spans(self.problem.features.offsets[criteria], dims)
        owner = np.repeat(np.arange(criteria.size), dims)
        terms = phi[mine] * self.theta[mine]
        return np.asarray(np.bincount(owner, terms, criteria.size), np.float64)


def lengths(problem: Problem, theta: Array) -> Array:
    """The length of each criterion's part of theta: (m,)."""
    return np.asarray(np.sqrt(np.add.reduceat(theta**2, problem.features.offsets[:-1])))


def _parameters(problem: Problem, theta: Sequence[ArrayLike]) -> Array:
    if len(theta) != problem.criteria:
        raise InvalidInput(
            f"theta has {len(theta)} parts, expected {problem.criteria}; one per criterion"
        )
    parts = [
        vector(part, int(d), f"theta[{i}]", "feature")
        for i, (part, d) in enumerate(zip(theta, problem.dims, strict=True))
    ]
    return read_only(np.concatenate(parts))
