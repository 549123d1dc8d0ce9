"""Who plays: our policies, told nothing or everything, the tuner, and the rivals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np

import trimtab as tt
from benchmarks.league.live import LiveTuner, ToldNothing
from benchmarks.league.match import Player
from benchmarks.league.place import Place
from benchmarks.league.rivals import Searcher
from benchmarks.league.roster import RIVALS
from trimtab.arrays import Array
from trimtab.policies import Policy

FIXED, MIDDLE = "fixed", "middle"
NOTHING, TUNER, EVERYTHING = "told nothing", "Tuner", "told everything"


class ToldEverything:
    """A policy of this library, told the noise of each loss."""

    def __init__(
        self,
        place: Place,
        *,
        kind: Callable[..., Policy],
        seed: int,
        horizon: int,
    ) -> None:
        told = tt.Prior(sigma=place.sigma)
        self.policy = kind(place.problem, start=place.start, prior=told, seed=seed)

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


class Middle:
    """Goes to the middle of the domain at once: what a tuner must beat that knows a box."""

    def __init__(self, place: Place, *, horizon: int, seed: int) -> None:
        domain = place.problem.domain
        self._state = domain.project((domain.low + domain.high) / 2.0)

    def ask(self) -> Array:
        """The middle."""
        return self._state

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
    slow: bool = False  # plays in small worlds only, and at the shortest horizon
    boxes: bool = False  # plays in boxes only
    files: tuple[str, ...] = ("players.py",)  # of this folder, that decide how it plays

    @property
    def rival(self) -> bool:
        """Whether it is somebody else's."""
        return not self.ours and self.name != FIXED

    def installed(self) -> bool:
        """Whether it can play here."""
        return all(find_spec(package) is not None for package in self.needs)


def _everything(name: str, kind: Callable[..., Policy]) -> Entry:
    what = "the same prior, told the noise of each loss"
    return Entry(name, partial(ToldEverything, kind=kind), what, ours=True)


def _rival(kind: type[Searcher]) -> Entry:
    own = kind.__module__.rpartition(".")[2] + ".py"
    files = tuple(dict.fromkeys(("rivals.py", "plans.py", own)))
    return Entry(kind.name, kind, kind.what, kind.needs, slow=kind.slow, files=files)


ENTRIES = (
    Entry(FIXED, Fixed, "the start state for ever"),
    Entry(
        NOTHING,
        ToldNothing,
        "the recommended policy, which learns noise and ranges by itself",
        ours=True,
        files=("players.py", "live.py"),
    ),
    Entry(
        TUNER,
        LiveTuner,
        "the same in tt.Tuner: steps of at most 0.2, a round of settling, guards",
        ours=True,
        boxes=True,
        files=("players.py", "live.py"),
    ),
    _everything(EVERYTHING, tt.SteadyGraphLinUCB),
    _everything("Algorithm 1, told everything", tt.LazyGraphLinUCB),
    _everything("Async, told everything", tt.AsyncLazyGraphLinUCB),
    Entry(MIDDLE, Middle, "one jump to the middle of the box, and stays"),
    *map(_rival, RIVALS),
)
