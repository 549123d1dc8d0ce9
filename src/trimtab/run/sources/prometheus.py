"""Metrics from a Prometheus server, by its HTTP API.

A plain selector (`latency_seconds{job="shop"}`) is read sample by sample, so that we know how old
its newest one is. Any other expression is evaluated by the server at the end of the window. An
instant selector inside such an expression may be up to five minutes old (Prometheus's lookback):
give ranges (`rate(x[$window])`), or a `heartbeat`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx

from trimtab.run.faults import SourceFault
from trimtab.run.reading import Absent, Reading, Window, reading_of, refuse_skew, staleness
from trimtab.run.web import Web

SELECTOR = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^{}]*\})?")
FOLDS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda values: sum(values) / len(values),
    "min": min,
    "max": max,
    "sum": sum,
    "last": lambda values: values[-1],
}


class PrometheusSource:
    """Queries one Prometheus server.

    Args:
        url: of the server, without /api.
        queries: PromQL by metric.
        aggregates: how samples become one number, by metric.
        step: seconds between samples of an aggregated expression.
        heartbeat: a selector whose newest sample must be young.
        headers: sent with every request.
        max_age: seconds that the newest sample may be older than the end of the window.
        timeout: seconds of one request.
        clock: the time.
        transport: how requests travel, for tests.
    """

    def __init__(
        self,
        url: str,
        *,
        queries: Mapping[str, str],
        aggregates: Mapping[str, str],
        step: float,
        heartbeat: str | None,
        headers: Mapping[str, str],
        max_age: float,
        timeout: float,
        clock: Callable[[], datetime],
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._api = url.rstrip("/") + "/api/v1/"
        self._queries, self._aggregates, self._step = queries, aggregates, step
        self._heartbeat, self._max_age, self._clock = heartbeat, max_age, clock
        self._web = Web(SourceFault, headers=headers, timeout=timeout, transport=transport)

    def read(self, window: Window, decision: str) -> Reading:
        """The metrics of a window.

        Raises:
            SourceFault: the server cannot be asked, or its clock is not ours.
        """
        if self._heartbeat is not None:
            beat = self._samples(self._heartbeat, window, "last", several=True)
            if isinstance(beat, Absent):
                why = f"the heartbeat {self._heartbeat}: {beat.why}"
                return Reading(missing=dict.fromkeys(self._queries, why))
        return reading_of({name: self._checked(name, window) for name in self._queries})

    def _checked(self, name: str, window: Window) -> float | Absent:
        try:
            return self._value(name, window)
        except (LookupError, TypeError, ValueError) as error:
            text = f"{name}: no answer of Prometheus has this form: {type(error).__name__}: {error}"
            raise SourceFault("format", text) from None

    def _value(self, name: str, window: Window) -> float | Absent:
        query, fold = self._queries[name], self._aggregates.get(name)
        if SELECTOR.fullmatch(query):
            return self._samples(query, window, fold or "mean")
        query = query.replace("$window", f"{round(1000 * window.seconds)}ms")
        if fold is None:
            return self._evaluated(query, window)
        begin, end = window.begin.timestamp(), window.end.timestamp()
        span = {"start": f"{begin:.3f}", "end": f"{end:.3f}", "step": f"{self._step:g}"}
        series = self._asked("query_range", {"query": query} | span)
        return _one(series) or self._folded(series[0]["values"], window, fold)

    def _evaluated(self, query: str, window: Window) -> float | Absent:
        """The value of an expression at the end of the window."""
        found = self._asked("query", {"query": query, "time": f"{window.end.timestamp():.3f}"})
        if absent := _one(found):
            return absent
        return float(found[0]["value"][1])

    def _samples(
        self, selector: str, window: Window, fold: str, *, several: bool = False
    ) -> float | Absent:
        """The samples of a series in the window, made one."""
        length = round(1000 * max(window.seconds, self._max_age if several else 0.0))
        at = f"{window.end.timestamp():.3f}"
        series = self._asked("query", {"query": f"{selector}[{length}ms]", "time": at})
        if several and series:
            series = [max(series, key=lambda each: float(each["values"][-1][0]))]
        return _one(series) or self._folded(series[0]["values"], window, fold)

    def _folded(self, values: list[Any], window: Window, fold: str) -> float | Absent:
        newest = datetime.fromtimestamp(float(values[-1][0]), UTC)
        if why := staleness(newest, window, self._max_age, self._clock()):
            return Absent(why)
        return FOLDS[fold]([float(value) for _, value in values])

    def _asked(self, what: str, data: dict[str, str]) -> list[Any]:
        """The series that the server answers with; a scalar is one without labels."""
        url = self._api + what
        answer, date = self._web.json("POST", url, data=data)
        refuse_skew(date, self._clock(), self._max_age, "Prometheus")
        try:
            if answer["status"] != "success":
                raise SourceFault("query", f"{data['query']}: {answer.get('error', answer)}")
            result = answer["data"]["result"]
            if answer["data"]["resultType"] in ("scalar", "string"):
                return [{"metric": {}, "value": result}]
            if not isinstance(result, list):
                raise TypeError(f"the result is a {type(result).__name__}")
            return result
        except (KeyError, TypeError, AttributeError) as error:
            text = f"{url} does not answer as Prometheus does: {type(error).__name__}: {error}"
            raise SourceFault("format", text) from None

    def close(self) -> None:
        """End the connection."""
        self._web.close()


def _one(series: list[Any]) -> Absent | None:
    """Why the series are not exactly one; None if they are."""
    if not series:
        return Absent("empty: no series matches, or none has a sample")
    if len(series) > 1:
        labels = "; ".join(str(each.get("metric")) for each in series[:2])
        return Absent(f"{len(series)} series instead of one, e.g. with sum(): {labels}")
    return None
