"""What a tell adds to the journal: what is new in it, or what it corrects, once it is checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, isinf, isnan
from numbers import Integral
from typing import Any

from trimtab.errors import Conflict, InvalidInput, NotFound
from trimtab.live.spec.spec import Spec
from trimtab.live.state import history
from trimtab.live.state.commands import Entry
from trimtab.live.state.measurement import MOST, Plain, Told
from trimtab.live.state.tuner_state import TunerState
from trimtab.live.store.event import Event, id_of
from trimtab.live.store.session import Read
from trimtab.plain.faults import real, shown
from trimtab.registry import suggestion

LARGEST = 1e100  # of a mean or a standard error, as of any number in a spec; one over it, the least


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What came of a tell."""

    id: str  # of the decision
    events: tuple[int, ...]  # that it has added; none if all was told before

    @property
    def repeated(self) -> bool:
        """Whether it said nothing new."""
        return not self.events

    def to_dict(self) -> dict[str, Any]:
        """The receipt as plain data, for other programs."""
        return {"id": self.id, "events": list(self.events), "repeated": self.repeated}


def plain_metrics(spec: Spec, metrics: Mapping[str, Any], count: Any) -> dict[str, Plain]:
    """The measurements by name as [mean, standard error or None, count]; NaN and None are left out.

    Raises:
        InvalidInput: an unknown metric, something that is no measurement, or a count that counts
            nothing.
    """
    if not isinstance(metrics, Mapping):
        raise InvalidInput(f"metrics = {shown(metrics)}; give a dict, metric by metric")
    known = [each.name for each in spec.objectives] + list(spec.metrics)
    known += [name for name in spec.covariates if name not in known]
    told: dict[str, Plain] = {}
    for name, given in metrics.items():
        if name not in known:
            raise InvalidInput(f"{name!r} is no metric; {suggestion(str(name), known)}")
        n = _count(count.get(name, 1) if isinstance(count, Mapping) else count, name)
        mean, error = _mean(name, given)
        if mean is not None:
            told[name] = [mean, error, n]
    if isinstance(count, Mapping):
        for name in count:
            if name not in metrics:
                raise InvalidInput(f"count has {name!r}, metrics has not; count what is told")
    else:
        _count(count, "count")
    for objective in spec.objectives:
        if objective.name in told:
            objective.loss(told[objective.name][0])  # refuses mistaken units
    return told


def _mean(name: str, given: Any) -> tuple[float | None, float | None]:
    """A mean and its standard error, None where there is none."""
    error = None
    if isinstance(given, list | tuple):
        if len(given) != 2:
            raise InvalidInput(f"{name} = {shown(given)}; give a number, or (mean, sem)")
        given, error = given
    if given is None:
        return None, None
    mean = real(given, name)
    if isinf(mean):
        raise InvalidInput(f"{name} = {mean}; give a finite number, or NaN for what is missing")
    if abs(mean) > LARGEST:  # sums of products with counts must stay finite
        raise InvalidInput(f"{name} = {mean:g}; at most {LARGEST:g} either way: check its unit")
    if error is not None:
        error = real(error, f"the standard error of {name}")
        if not 0.0 < error < inf:
            raise InvalidInput(
                f"the standard error of {name} = {error:g}; it must be above 0: leave it out if it "
                "is not known"
            )
        if not 1.0 / LARGEST <= error <= LARGEST:  # squares must stay finite, and above 0
            raise InvalidInput(
                f"the standard error of {name} = {error:g}; from {1.0 / LARGEST:g} to {LARGEST:g}: "
                "check its unit, or leave it out"
            )
    return (None, None) if isnan(mean) else (mean, error)


def _count(value: Any, name: str) -> int:
    """A whole number of rounds."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not 1 <= value <= MOST:
        raise InvalidInput(
            f"count of {name} = {shown(value)}; give a whole number from 1 to {MOST:,}"
        )
    return int(value)


@dataclass(frozen=True, slots=True)
class Known:
    """A decision, and what was told of it."""

    number: int
    told: Told
    answered: bool
    late: dict[str, Any] | None  # what a tell must carry along if the tuner_state has let go of it


@dataclass(slots=True)
class Memory:
    """What was told of an old decision, as far as events were read."""

    place: Event | None = None  # the last one
    told: Told = field(default_factory=dict)
    answered: bool = False


def known_of(
    tuner_state: TunerState, number: int, read: Read, tuner: str, memory: Memory | None = None
) -> Known:
    """A decision by its number, looked up in the journal if it is an old one.

    Args:
        tuner_state: knows the newest decisions.
        number: of the decision's event.
        read: reads the tuner's events.
        tuner: whose.
        memory: of the last time it was looked up; what comes later is read only.

    Raises:
        NotFound: that was no decision.
    """
    trial = tuner_state.trials.get(number)
    if trial is not None:
        return Known(number, trial.told, trial.answered, None)
    oldest = next(iter(tuner_state.trials), 0)
    found = history.event(read, number) if 1 <= number < oldest else None
    if found is None or found.kind != "decide":
        raise NotFound(f"there is no decision {id_of(tuner, number)}; use the id that ask gave")
    memory = memory or Memory()
    for later in read(after=memory.place or found):
        memory.place = later
        if later.kind in ("tell", "correct") and later.payload["decision"] == number:
            memory.told |= later.payload["metrics"]
            memory.answered = True
    told = dict(memory.told)
    payload = found.payload
    late = {
        "round": payload["round"],
        "state": history.state(read, found),
        "settling": payload.get("settling", False),
        "told": told,
    }
    return Known(number, told, memory.answered, late)


def entries_of(
    known: Known,
    told: Mapping[str, Plain],
    gone: Iterable[str],
    *,
    correct: bool,
    answers: bool = True,
) -> list[Entry]:
    """The events that a tell amounts to: what was not told yet, and what is corrected.

    A tell `answers` the decision even if it says nothing, unless it is of the control arm.

    Raises:
        Conflict: something else was told before, and this is no correction.
    """
    fresh = {name: x for name, x in told.items() if name not in known.told}
    other = {name: x for name, x in told.items() if known.told.get(name, x) != x}
    if other and not correct:
        name, (mean, _, _) = next(iter(other.items()))
        before = known.told[name]
        said = "it was taken back" if before is None else f"it was told as {before[0]:.12g}"
        raise Conflict(
            f"{name} = {mean:.12g}: {said}, with another count or error perhaps; if this is "
            "right, send it as a correction"
        )
    entries: list[Entry] = []
    if fresh or (answers and not known.answered):
        payload: dict[str, Any] = {"decision": known.number, "metrics": fresh}
        late = {} if known.late is None else {"late": known.late}
        entries.append(("tell", payload | late))
    back = [name for name in gone if correct and known.told.get(name) is not None]
    if other or back:
        changed = other | dict.fromkeys(back)
        entries.append(("correct", {"decision": known.number, "metrics": changed}))
    return entries
