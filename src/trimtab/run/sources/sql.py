"""Metrics from a database: one query, one row, a column per metric. It is only read."""

from __future__ import annotations

import re
import sqlite3
import time as clocks
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from trimtab.run.faults import SourceFault
from trimtab.run.reading import Reading, Window, read_answer

PARAMETER = re.compile(r"(?<![:\w]):(begin|end)\b")
OPCODES = 10_000  # of SQLite between two checks of the clock

Row = Mapping[str, Any]


class SqlSource:
    """Asks a database, by a new connection each time.

    Args:
        url: sqlite:///path or postgresql://...
        query: gives one row; :begin and :end are the window in seconds since 1970.
        names: of the metrics, which are columns.
        time: the column with the newest time of what was measured.
        max_age: seconds by which that time may be before the end of the window.
        timeout: seconds of a query.
        clock: the time.
    """

    def __init__(
        self,
        url: str,
        *,
        query: str,
        names: list[str],
        time: str | None,
        max_age: float,
        timeout: float,
        clock: Callable[[], datetime],
    ) -> None:
        self._url, self._query, self._names, self._time = url, query, names, time
        self._max_age, self._timeout, self._clock = max_age, timeout, clock
        if not url.startswith("sqlite:///"):
            import psycopg  # noqa: F401 - a missing package shows now, not in the first window

    def read(self, window: Window, decision: str) -> Reading:
        """The metrics of a window.

        Raises:
            SourceFault: the database cannot be asked, or gives more than one row.
        """
        values = {"begin": window.begin.timestamp(), "end": window.end.timestamp()}
        asked = self._sqlite if self._url.startswith("sqlite:///") else self._postgres
        rows = asked(values)
        if len(rows) > 1:
            raise SourceFault("duplicate", "the query gives several rows; it must give one")
        if not rows:
            return Reading(missing=dict.fromkeys(self._names, "empty: the query gives no row"))
        row = {
            name: float(value) if isinstance(value, Decimal) else value
            for name, value in rows[0].items()
        }
        return read_answer(row, self._names, {}, self._time, window, self._max_age, self._clock())

    def _sqlite(self, values: dict[str, float]) -> list[Row]:
        path = quote(self._url.removeprefix("sqlite:///"))
        deadline = clocks.monotonic() + self._timeout
        try:
            with closing(
                sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=self._timeout)
            ) as connection:
                connection.set_progress_handler(lambda: clocks.monotonic() > deadline, OPCODES)
                connection.row_factory = sqlite3.Row
                used = {name: values[name] for name in PARAMETER.findall(self._query)}
                return [dict(row) for row in connection.execute(self._query, used).fetchmany(2)]
        except sqlite3.Error as error:
            code = "timeout" if clocks.monotonic() > deadline else "database"
            raise SourceFault(code, f"SQLite: {error}") from None

    def _postgres(self, values: dict[str, float]) -> list[Row]:
        import psycopg
        from psycopg.rows import dict_row

        query = PARAMETER.sub(r"%(\1)s", self._query.replace("%", "%%"))
        limits = f"-c default_transaction_read_only=on -c statement_timeout={self._timeout:g}s"
        try:
            with (
                psycopg.connect(
                    self._url, connect_timeout=max(int(self._timeout), 1), options=limits
                ) as connection,
                connection.cursor(row_factory=dict_row) as cursor,
            ):
                cursor.execute(query.encode(), values)
                return list(cursor.fetchmany(2))
        except psycopg.errors.QueryCanceled:
            raise SourceFault("timeout", f"the query takes over {self._timeout:g} s") from None
        except psycopg.Error as error:
            said = " ".join(str(error).split())
            raise SourceFault("database", f"PostgreSQL: {said}") from None

    def close(self) -> None:
        """Nothing is open."""
