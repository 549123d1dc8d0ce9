"""Who sets the knobs of a real system: nobody, what people use today, and the tuner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

import numpy as np

import trimtab as tt
from benchmarks.league import rivals
from benchmarks.league.place import Place, System
from benchmarks.league.recorded import recorded
from trimtab.arrays import Array
from trimtab.errors import InvalidInput, NotFound
from trimtab.live import Spec


class Arm(Protocol):
    """Somebody who sets the knobs: asked before every window, told its metrics after it."""

    def values(self) -> dict[str, float]:
        """The values of the next window, by knob."""

    def told(self, metrics: Mapping[str, float]) -> None:
        """Take in what the window measured; NaN where a metric is missing."""

    def close(self) -> None:
        """Let go of files."""


class Fixed:
    """Leaves the knobs alone."""

    def __init__(self, spec: Spec, *, horizon: int, seed: int, folder: Path) -> None:
        self._values = spec.values(spec.start)

    def values(self) -> dict[str, float]:
        """The start values."""
        return self._values

    def told(self, metrics: Mapping[str, float]) -> None:
        """Nothing is learned."""

    def close(self) -> None:
        """Nothing is open."""


class BestKnown(Fixed):
    """Sets the best values of the system's recording before the first window, and leaves them."""

    def __init__(self, spec: Spec, *, horizon: int, seed: int, folder: Path) -> None:
        best = recorded(spec.name).optimum.state
        self._values = spec.values(spec.problem.domain.project(best))


class Rival:
    """A searcher of the league; it sees the losses of the spec's objectives, weighted and added."""

    def __init__(
        self,
        spec: Spec,
        *,
        kind: Callable[..., rivals.Searcher],
        horizon: int,
        seed: int,
        folder: Path,
    ) -> None:
        unknown = np.full(len(spec.objectives), np.nan)
        nowhere = cast(System, None)  # the real system is the world
        place = Place(nowhere, spec.problem, spec.start, unknown)
        self._spec, self._searcher = spec, kind(place, horizon=horizon, seed=seed)
        self._state: Array = spec.start

    def values(self) -> dict[str, float]:
        """The state on trial or the one recommended, on the steps of integer knobs."""
        self._state = np.array(self._searcher.ask())
        return self._spec.values(self._spec.problem.domain.project(self._state))

    def told(self, metrics: Mapping[str, float]) -> None:
        """Hand the losses to the searcher."""
        self._searcher.tell(self._spec.losses(metrics), self._state)

    def close(self) -> None:
        """Nothing is open."""


def only_watching(spec: Spec) -> Spec:
    """The spec with guardrails that are watched and not learned."""
    rules = tuple(replace(rule, safety=0.0) for rule in spec.constraints)
    return replace(spec, constraints=rules)


class Tuned:
    """`tt.Tuner` with the spec as it is: its default policy, its guards, a journal in a folder.

    Args:
        spec: what it tunes.
        horizon: how long; it does not need to know.
        seed: of its policy.
        folder: for its journal.
        name: of the journal.
        learned: whether guardrails are learned, or only watched.
        late: windows that it leaves alone before it begins.
    """

    def __init__(
        self,
        spec: Spec,
        *,
        horizon: int,
        seed: int,
        folder: Path,
        name: str = "journal",
        learned: bool = True,
        late: int = 0,
    ) -> None:
        url = f"sqlite:///{folder / f'{name}.db'}"
        self._tuner = tt.Tuner(spec if learned else only_watching(spec), storage=url, seed=seed)
        self._still, self._left, self._decision = spec.values(spec.start), late, ""

    def values(self) -> dict[str, float]:
        """The values of its next decision."""
        if self._left:
            return self._still
        decision = self._tuner.ask()
        self._decision = decision.id
        return dict(decision.values)

    def told(self, metrics: Mapping[str, float]) -> None:
        """Tell the metrics of that decision."""
        if self._left:
            self._left -= 1
            return
        self._tuner.tell(self._decision, metrics)

    def alarms(self) -> list[int]:
        """The rounds before which the system seemed to have changed, from 1."""
        rows = self._tuner.history(kinds=["decide"])
        found = [row.round for row in rows if row.look and row.look["cause"] == "alarm"]
        return [round for round in found if round is not None]

    def close(self) -> None:
        """Close the journal."""
        self._tuner.close()


@dataclass(frozen=True)
class Entry:
    """An arm up to the system that it plays on."""

    name: str
    make: Callable[..., Arm]  # of a spec, with horizon, seed and folder
    needs: tuple[str, ...] = ()  # packages
    rival: bool = True
    extra: bool = False  # whether it plays only if it is named

    def require(self) -> None:
        """Nothing, if it can play here.

        Raises:
            NotFound: a package that it needs is not installed.
        """
        for package in self.needs:
            if find_spec(package) is None:
                raise NotFound(f"{package} is not installed, and {self.name} needs it")


FIXED, OURS = "fixed", "trimtab"
WATCHING, LATE = "trimtab, guardrail only watched", "trimtab, begun at the change"
ENTRIES = {
    entry.name: entry
    for entry in (
        Entry(FIXED, Fixed, rival=False),
        Entry(OURS, Tuned, rival=False),
        Entry(WATCHING, partial(Tuned, name="watching", learned=False), rival=False, extra=True),
        Entry("best of the recording", BestKnown, rival=False, extra=True),
        Entry("hill climbing", partial(Rival, kind=rivals.HillClimbing)),
        Entry("Optuna TPE", partial(Rival, kind=rivals.Optuna), ("optuna",)),
        Entry("Optuna CMA-ES", partial(Rival, kind=rivals.OptunaCMA), ("optuna", "cmaes")),
    )
}


def latecomer(change: int) -> Entry:
    """The tuner that begins, knowing nothing, after the window of a change."""
    return Entry(LATE, partial(Tuned, name="late", late=change), rival=False)


def entries(names: list[str]) -> list[Entry]:
    """The arms of these names, in this order, the fixed one first: everybody is measured by it.

    Raises:
        InvalidInput: no arm has such a name.
        NotFound: a package that an arm needs is not installed.
    """
    for name in names:
        if name not in ENTRIES:
            raise InvalidInput(f"{name!r} is no arm; the arms are {', '.join(ENTRIES)}")
    chosen = [ENTRIES[name] for name in dict.fromkeys([FIXED, *names])]
    for entry in chosen:
        entry.require()
    return chosen
