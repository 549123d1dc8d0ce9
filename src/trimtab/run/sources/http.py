"""Metrics from a URL that answers with JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

import httpx

from trimtab.run.faults import SourceFault
from trimtab.run.reading import Reading, Window, read_answer, refuse_skew
from trimtab.run.web import Web


class HttpSource:
    """Asks one URL, in which {begin}, {end} and {decision} are filled in.

    Args:
        url: by GET.
        names: of the metrics.
        paths: where each stands in the answer; at its name by default.
        time: where the time of measurement stands; None: it is the time of the answer.
        headers: sent with every request.
        max_age: seconds by which that time may be before the end of the window.
        timeout: seconds of one request.
        clock: the time.
        transport: how requests travel, for tests.
    """

    def __init__(
        self,
        url: str,
        *,
        names: list[str],
        paths: Mapping[str, str],
        time: str | None,
        headers: Mapping[str, str],
        max_age: float,
        timeout: float,
        clock: Callable[[], datetime],
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._url, self._names, self._paths, self._time = url, names, paths, time
        self._max_age, self._clock = max_age, clock
        self._web = Web(SourceFault, headers=headers, timeout=timeout, transport=transport)

    def read(self, window: Window, decision: str) -> Reading:
        """The metrics of a window.

        Raises:
            SourceFault: the URL cannot be asked, or its clock is not ours.
        """
        url = self._url
        for name, value in (
            ("{begin}", f"{window.begin.timestamp():.3f}"),
            ("{end}", f"{window.end.timestamp():.3f}"),
            ("{decision}", decision),
        ):
            url = url.replace(name, value)
        answer, date = self._web.json("GET", url)
        now = self._clock()
        refuse_skew(date, now, self._max_age, "the source")
        return read_answer(answer, self._names, self._paths, self._time, window, self._max_age, now)

    def close(self) -> None:
        """End the connection."""
        self._web.close()
