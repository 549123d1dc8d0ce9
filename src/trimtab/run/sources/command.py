"""Metrics from a program that prints JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from trimtab.run.faults import SourceFault
from trimtab.run.program import output_of
from trimtab.run.reading import Reading, Window, read_answer
from trimtab.run.web import parsed


class CommandSource:
    """Runs a program, which finds the window in TRIMTAB_BEGIN and TRIMTAB_END.

    Args:
        command: the program and its arguments.
        names: of the metrics.
        paths: where each stands in what it prints; at its name by default.
        time: where the time of measurement stands; None: it is measured now.
        max_age: seconds by which that time may be before the end of the window.
        timeout: seconds.
        clock: the time.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        names: list[str],
        paths: Mapping[str, str],
        time: str | None,
        max_age: float,
        timeout: float,
        clock: Callable[[], datetime],
    ) -> None:
        self._command, self._names, self._paths, self._time = command, names, paths, time
        self._max_age, self._timeout, self._clock = max_age, timeout, clock

    def read(self, window: Window, decision: str) -> Reading:
        """The metrics of a window.

        Raises:
            SourceFault: the program fails, takes too long or prints no JSON.
        """
        variables = {
            "TRIMTAB_DECISION": decision,
            "TRIMTAB_BEGIN": f"{window.begin.timestamp():.3f}",
            "TRIMTAB_END": f"{window.end.timestamp():.3f}",
        }
        printed = output_of(self._command, SourceFault, timeout=self._timeout, variables=variables)
        answer = parsed(printed, self._command[0], SourceFault)
        return read_answer(
            answer,
            self._names,
            self._paths,
            self._time,
            window,
            self._max_age,
            self._clock(),
        )

    def close(self) -> None:
        """Nothing is open."""
