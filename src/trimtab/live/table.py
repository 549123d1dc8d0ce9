"""A journal as a table of observations: the one that `warm_start` reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab.errors import InvalidInput
from trimtab.live.spec.spec import Spec
from trimtab.live.state.measurement import CONTROL
from trimtab.live.state.reducer import spec_in
from trimtab.live.store.session import Read

AROUND = ("time", "metric", "value", "noise", "count")


def columns_of(spec: Spec) -> list[str]:
    """The names of the columns."""
    return ["time", *(knob.name for knob in spec.knobs), "metric", "value", "noise", "count"]


def observations(spec: Spec, read: Read, into: Spec | None = None) -> Iterator[dict[str, Any]]:
    """What was told of each decision once metrics had settled, corrected, a row per metric.

    Args:
        spec: the tuner's.
        read: reads its events.
        into: another spec, for which the rows are meant. A knob that only it has stands at its
            start; rows out of its ranges and metrics that it does not know are left out.
    """
    target = into or spec
    known = {each.name for each in target.objectives} | set(target.metrics)
    corrected: dict[tuple[int, str], Any] = {}
    for event in read():
        if event.kind == "correct":
            payload = event.payload
            corrected |= {(payload["decision"], n): x for n, x in payload["metrics"].items()}
    states: dict[int, list[float]] = {}  # by the event that has set it
    decided: dict[int, tuple[int, bool]] = {}  # by decision: that event, and whether it settled
    for event in read():
        payload = event.payload
        if event.kind == "begin":
            states[event.number] = spec_in(payload).start_place
        elif event.kind == "attach":
            states[event.number] = payload["state"]
        elif event.kind == "decide":
            if "state" in payload:
                states[event.number] = payload["state"]
            source = payload.get("since", event.number)
            decided[event.number] = source, not payload.get("settling", False)
        elif event.kind == "tell":
            number = payload["decision"]
            source, settled = decided[number]
            values = _fitting(spec, states[source], target)
            if not settled or values is None:
                continue
            for name, told in payload["metrics"].items():
                content = corrected.get((number, name), told)
                if content is not None and name in known and not name.startswith(CONTROL):
                    mean, sem, count = content
                    around = (event.at.isoformat(), name, mean, sem, count)
                    yield values | dict(zip(AROUND, around, strict=True))


def _fitting(spec: Spec, state: list[float], target: Spec) -> dict[str, float] | None:
    """The values of a state for another spec, or None if it does not allow them."""
    values = spec.values(state)
    mine = {knob.name: values.get(knob.name, knob.start) for knob in target.knobs}
    try:
        target.state(mine)
    except InvalidInput:
        return None
    return mine
