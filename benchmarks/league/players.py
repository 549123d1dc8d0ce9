"""Who plays: our policies with one configuration each, and the rivals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import trimtab as tt
from benchmarks.league import rivals
from benchmarks.league.gaussian_process import GPUCB
from benchmarks.league.match import Player
from benchmarks.league.worlds import Place
from trimtab.arrays import Array
from trimtab.estimators.confidence import Form
from trimtab.policies import Policy

FACTOR = 2.0  # of all our lazy policies: what Algorithm 1 has in the paper


class Ours:
    """A policy of this library, told the noise and the norm; its `form` is that of the radius."""

    def __init__(
        self,
        place: Place,
        *,
        kind: Callable[..., Policy],
        seed: int,
        horizon: int,
        form: Form = "tempered",
        estimated: bool = False,
        balanced: bool = True,
        **options: object,
    ) -> None:
        told = tt.Confidence(sigma=place.sigma, norm=place.norm, form=form)
        self.policy = kind(
            place.problem,
            start=place.start,
            radius=replace(told, sigma=None) if estimated else told,
            reg=told.balanced_reg if balanced else 1.0,
            seed=seed,
            **options,
        )

    def ask(self) -> Array:
        """The policy's state."""
        return self.policy.ask()

    def tell(self, losses: Array, played: Array) -> None:
        """Losses of an earlier state are told as such."""
        now = np.array_equal(played, self.policy.ask())
        self.policy.tell(losses, played=None if now else played)


class Fixed:
    """Leaves everything as it was."""

    def __init__(self, place: Place, *, horizon: int, seed: int) -> None:
        self._start = place.start

    def ask(self) -> Array:
        """The start state."""
        return self._start

    def tell(self, losses: Array, played: Array) -> None:
        """Nothing is learned."""


@dataclass(frozen=True)
class Entry:
    """A player of the league."""

    name: str
    make: Callable[..., Player]
    what: str
    needs: tuple[str, ...] = ()  # packages
    ours: bool = False
    slow: bool = False  # plays in small worlds only, and with the first seeds

    def installed(self) -> bool:
        """Whether it can play here."""
        return all(find_spec(package) is not None for package in self.needs)


def _ours(
    name: str, kind: Callable[..., Policy], what: str, *, slow: bool = False, **options: Any
) -> Entry:
    return Entry(name, partial(Ours, kind=kind, **options), what, ours=True, slow=slow)


_steady = partial(_ours, kind=tt.SteadyGraphLinUCB)

ENTRIES = (
    _steady("Steady", what="radius tempered, reg balanced, factor 2", factor=FACTOR),
    _steady(
        "Steady, proven radius",
        what="the same with the proven radius",
        form="logdet",
        factor=FACTOR,
    ),
    _steady(
        "Steady, noise estimated",
        what="the same as Steady with sigma=None",
        estimated=True,
        factor=FACTOR,
        slow=True,
    ),
    _steady(
        "Steady, factor chosen",
        what="the same as Steady with the factor that it chooses by itself",
        slow=True,
    ),
    _steady(
        "Steady, reg 1",
        what="the same as Steady with the constructor's reg",
        balanced=False,
        factor=FACTOR,
        slow=True,
    ),
    _ours("Algorithm 1", tt.LazyGraphLinUCB, "as Steady", factor=FACTOR),
    _ours("Async", tt.AsyncLazyGraphLinUCB, "as Steady", factor=FACTOR),
    _ours("LinUCB", tt.LinUCB, "as Steady, but for the factor", slow=True),
    Entry("fixed defaults", Fixed, "the start state for ever"),
    Entry("hill climbing", rivals.HillClimbing, "one knob at a time, step 0.25, adapted"),
    Entry("SPSA", rivals.SPSA, "Spall's gains, perturbation 0.1, first step 0.1"),
    Entry("cmaes", rivals.CMAES, "sigma 0.2; stays with the mean", ("cmaes",)),
    Entry("Optuna TPE", rivals.Optuna, "defaults; stays with the best trial", ("optuna",)),
    Entry("Optuna CMA-ES", rivals.OptunaCMA, "the same", ("optuna", "cmaes")),
    Entry("Optuna GP", rivals.OptunaGP, "the same", ("optuna", "torch"), slow=True),
    Entry(
        "BoTorch GP-UCB",
        GPUCB,
        "SingleTaskGP, beta 4",
        ("botorch", "torch"),
        slow=True,
    ),
)
