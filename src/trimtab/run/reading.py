"""What a source says of a window: the metrics that are there, and why the others are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isfinite, isnan
from typing import Any, Protocol

from trimtab.plain.faults import shown
from trimtab.run.faults import SourceFault

Measurement = float | tuple[float, float]  # a mean, or a mean and its standard error
LEAST_SKEW = 2.0  # seconds by which clocks may always differ


@dataclass(frozen=True)
class Window:
    """A stretch of time in which the system ran with the values of one decision."""

    begin: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end - self.begin).total_seconds()


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The metrics of a window."""

    metrics: Mapping[str, Measurement] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)  # why, by metric


class Source(Protocol):
    """A place that metrics of the system are read from."""

    def read(self, window: Window, decision: str) -> Reading:
        """The metrics of a window, which has ended.

        Raises:
            SourceFault: nothing can be had now.
        """

    def close(self) -> None:
        """End its connections."""


def measured(value: Any) -> Measurement | str:
    """A measurement, or why the value is none.

    >>> measured(3), measured([2.0, 0.1]), measured({"mean": 2.0, "sem": 0.1})
    (3.0, (2.0, 0.1), (2.0, 0.1))
    >>> measured("fast"), measured(None), measured(float("nan"))
    ("'fast' is no number", 'it is null', 'it is NaN')
    """
    if isinstance(value, Mapping):
        value = [value.get("mean"), value["sem"]] if "sem" in value else value.get("mean")
    if isinstance(value, list | tuple):
        if len(value) != 2:
            return f"{shown(value)} is no number, and no [mean, sem]"
        mean, error = measured(value[0]), measured(value[1])
        if isinstance(mean, float) and isinstance(error, float) and error > 0.0:
            return mean, error
        return mean if isinstance(mean, str) else f"{shown(value[1])} is no standard error above 0"
    if value is None:
        return "it is null"
    if not isinstance(value, int | float) or isinstance(value, bool):
        return f"{shown(value)} is no number"
    number = float(value)
    if isnan(number):
        return "it is NaN"
    return number if isfinite(number) else f"it is {number}"


def reading_of(found: Mapping[str, Any]) -> Reading:
    """The reading of plain values by metric; a `str` says why there is none."""
    metrics, missing = {}, {}
    for name, value in found.items():
        content = value if isinstance(value, Absent) else measured(value)
        if isinstance(content, Absent):
            missing[name] = content.why
        elif isinstance(content, str):
            missing[name] = content
        else:
            metrics[name] = content
    return Reading(metrics=metrics, missing=missing)


@dataclass(frozen=True)
class Absent:
    """In the place of a value: why there is none."""

    why: str


def staleness(newest: datetime, window: Window, max_age: float, now: datetime) -> str | None:
    """Why a sample of this time does not speak for the window; None if it does."""
    ahead = (newest - now).total_seconds()
    if ahead > max(max_age, LEAST_SKEW):
        return f"its time is {ahead:.1f} s in the future: the clocks differ"
    age = (window.end - newest).total_seconds()
    if age > max_age:
        return (
            f"stale: the newest sample is {age:.1f} s older than the end of the window, and "
            f"max_age is {max_age:g} s"
        )
    return None


def refuse_skew(date: datetime | None, now: datetime, max_age: float, where: str) -> None:
    """Refuse a server whose clock differs too much from ours: its windows are not ours.

    Raises:
        SourceFault: by how much it differs.
    """
    if date is None:
        return
    skew = (date - now).total_seconds()
    if abs(skew) > max(max_age, LEAST_SKEW) + 1.0:  # a Date header has whole seconds
        way = "ahead of" if skew > 0 else "behind"
        raise SourceFault(
            "clock", f"the clock of {where} is {abs(skew):.0f} s {way} ours; synchronise them"
        )


def time_in(value: Any) -> datetime | str:
    """A time given as seconds since 1970 or in ISO 8601, or why it is none.

    >>> time_in(0).isoformat(), time_in("2026-01-01T00:00:00Z").year
    ('1970-01-01T00:00:00+00:00', 2026)
    """
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return f"{shown(value)} is no time; give seconds since 1970 or ISO 8601"


def placed(answer: Any, path: str) -> Any:
    """What stands at a dotted path of a JSON value; `Absent` if nothing does.

    >>> placed({"data": [{"p99": 3}]}, "data.0.p99")
    3
    >>> placed({"data": []}, "data.0.p99").why
    'there is no data.0 in the answer'
    """
    here, way = answer, []
    for key in path.split("."):
        way.append(key)
        if isinstance(here, Mapping) and key in here:
            here = here[key]
        elif isinstance(here, list) and key.isdigit() and int(key) < len(here):
            here = here[int(key)]
        else:
            return Absent(f"there is no {'.'.join(way)} in the answer")
    return here


def read_answer(
    answer: Any,
    names: list[str],
    paths: Mapping[str, str],
    time: str | None,
    window: Window,
    max_age: float,
    now: datetime,
) -> Reading:
    """The reading in a JSON answer: each metric at its path, all of one time if there is one.

    Raises:
        SourceFault: its time is missing or is none.
    """
    if time is not None:
        at = placed(answer, time)
        at = at.why if isinstance(at, Absent) else time_in(at)
        if isinstance(at, str):
            raise SourceFault("format", f"the time of measurement: {at}")
        if why := staleness(at, window, max_age, now):
            return Reading(missing=dict.fromkeys(names, why))
    return reading_of({name: placed(answer, paths.get(name, name)) for name in names})
