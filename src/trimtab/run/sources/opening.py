"""The source that a spec names; only its own kind is imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime

from trimtab.errors import InvalidInput
from trimtab.live.spec.connect.environment import expanded
from trimtab.live.spec.duration import Duration
from trimtab.live.spec.spec import Spec
from trimtab.run.reading import Source


def seconds(duration: Duration | None, otherwise: float) -> float:
    """The length of a time of the spec."""
    return otherwise if duration is None or duration.seconds is None else float(duration.seconds)


def headers_of(
    table: Mapping[str, str], where: str, environment: Mapping[str, str]
) -> dict[str, str]:
    """Headers with their secrets."""
    return {
        name: expanded(text, f"{where}.headers.{name}", environment) for name, text in table.items()
    }


def used_metrics(spec: Spec) -> list[str]:
    """The metrics that a window needs: all objectives, and what constraints read."""
    used = {name for rule in spec.constraints for name in rule.metrics}
    return [each.name for each in spec.objectives] + [name for name in spec.metrics if name in used]


def open_source(
    spec: Spec,
    *,
    clock: Callable[[], datetime],
    environment: Mapping[str, str] = os.environ,
) -> Source:
    """The source of a spec.

    Raises:
        InvalidInput: the spec has none, a variable is not set, or a package is missing.
    """
    source = spec.source
    if source is None:
        raise InvalidInput("the spec has no [source]; say where its metrics come from")
    options, names = source.options, used_metrics(spec)
    window = seconds(source.window, 60.0)
    max_age, timeout = seconds(source.max_age, window), seconds(source.timeout, 10.0)
    try:
        match source.kind:
            case "prometheus":
                from trimtab.run.sources.prometheus import PrometheusSource

                return PrometheusSource(
                    expanded(options["url"], "source.url", environment),
                    queries={name: options["metrics"][name] for name in names},
                    aggregates=options.get("aggregate", {}),
                    step=seconds(options.get("step"), 15.0),
                    heartbeat=options.get("heartbeat"),
                    headers=headers_of(options.get("headers", {}), "source", environment),
                    max_age=max_age,
                    timeout=timeout,
                    clock=clock,
                )
            case "http":
                from trimtab.run.sources.http import HttpSource

                return HttpSource(
                    expanded(options["url"], "source.url", environment),
                    names=names,
                    paths=options.get("metrics", {}),
                    time=options.get("time"),
                    headers=headers_of(options.get("headers", {}), "source", environment),
                    max_age=max_age,
                    timeout=timeout,
                    clock=clock,
                )
            case "command":
                from trimtab.run.sources.command import CommandSource

                return CommandSource(
                    [expanded(word, "source.command", environment) for word in options["command"]],
                    names=names,
                    paths=options.get("metrics", {}),
                    time=options.get("time"),
                    max_age=max_age,
                    timeout=timeout,
                    clock=clock,
                )
            case _:
                from trimtab.run.sources.sql import SqlSource

                return SqlSource(
                    expanded(options["url"], "source.url", environment),
                    query=options["query"],
                    names=names,
                    time=options.get("time"),
                    max_age=max_age,
                    timeout=timeout,
                    clock=clock,
                )
    except ImportError as error:
        raise InvalidInput(
            f"a {source.kind} source needs {error.name}: pip install 'trimtab[run]'"
        ) from None
