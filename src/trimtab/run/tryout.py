"""Source and target, tried once: what `trimtab doctor` saw. Nothing is set."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from trimtab.errors import TrimtabError
from trimtab.live.clock import utc
from trimtab.live.spec.connect.environment import expanded
from trimtab.live.spec.lint import Check
from trimtab.live.spec.spec import Spec
from trimtab.run.faults import OutsideFault
from trimtab.run.schedule import Schedule
from trimtab.run.shell import secrets_of
from trimtab.run.sources.opening import open_source
from trimtab.run.targets.opening import open_target


def tried(
    spec: Spec,
    *,
    clock: Callable[[], datetime] = utc,
    environment: Mapping[str, str] = os.environ,
) -> tuple[Check, ...]:
    """What came of reading the last window and the present values; none without either table."""
    secrets = secrets_of(spec, environment)
    found = [
        *_source(spec, clock, environment),
        *_target(spec, clock, environment),
        *_webhooks(spec, environment),
    ]
    return tuple(Check(each.level, each.where, secrets.masked(each.text)) for each in found)


def _source(
    spec: Spec, clock: Callable[[], datetime], environment: Mapping[str, str]
) -> Iterator[Check]:
    if spec.source is None:
        return
    try:
        source = open_source(spec, clock=clock, environment=environment)
    except TrimtabError as error:
        yield Check("error", "source", str(error))
        return
    window = Schedule.of(spec.source).latest(clock())
    try:
        reading = source.read(window, "doctor")
    except OutsideFault as fault:
        yield Check("error", "source", f"{fault.code}: {fault}")
        return
    finally:
        source.close()
    units = {each.name: each.unit for each in spec.objectives} | dict(spec.metrics)
    for name, value in reading.metrics.items():
        mean = value[0] if isinstance(value, tuple) else value
        text = f"{mean:.6g} {units[name]}".rstrip() + f" in the last {window.seconds:g} s"
        yield from _judged(spec, name, mean, text)
    for name, why in reading.missing.items():
        yield Check("error", f"source.{name}", why)


def _judged(spec: Spec, name: str, mean: float, text: str) -> Iterator[Check]:
    """A metric that was read; a warning if its objective expects something else."""
    for objective in spec.objectives:
        low, high = sorted((objective.low, objective.high))
        if objective.name == name and not low <= mean <= high:
            beyond = f"{text}: outside {low:g} to {high:g}, the range of the objective"
            yield Check("warn", f"source.{name}", beyond)
            return
    yield Check("ok", f"source.{name}", text)


def _target(
    spec: Spec, clock: Callable[[], datetime], environment: Mapping[str, str]
) -> Iterator[Check]:
    if spec.target is None:
        return
    try:
        target = open_target(spec, clock=clock, environment=environment)
    except TrimtabError as error:
        yield Check("error", "target", str(error))
        return
    try:
        if not target.readable:
            text = (
                "values cannot be read back, and nothing was tried: setting would move the system"
            )
            yield Check("warn", "target", text)
            return
        values = target.read()
    except OutsideFault as fault:
        yield Check("error", "target", f"{fault.code}: {fault}")
        return
    finally:
        target.close()
    for knob in spec.knobs:
        where = f"target.{knob.name}"
        if knob.name not in values:
            yield Check("warn", where, f"it is not set; the first round sets {knob.start:g}")
        elif not knob.low <= values[knob.name] <= knob.high:
            text = (
                f"{values[knob.name]:g} is outside {knob.low:g} to {knob.high:g}; nothing would run"
            )
            yield Check("error", where, text)
        elif values[knob.name] != knob.start:
            text = f"{values[knob.name]:g}, and the spec's start is {knob.start:g}: it begins there"
            yield Check("warn", where, text)
        else:
            yield Check("ok", where, f"{values[knob.name]:g}, as the spec says")


def _webhooks(spec: Spec, environment: Mapping[str, str]) -> Iterator[Check]:
    for i, hook in enumerate(spec.webhooks):
        where = f"webhook[{i}]"
        try:
            for text in hook.texts:
                expanded(text, where, environment)
        except TrimtabError as error:
            yield Check("error", where, str(error))
        else:
            yield Check("ok", where, f"gets {', '.join(hook.events)}; nothing was sent")
