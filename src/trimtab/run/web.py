"""HTTP, as sources, targets and webhooks need it: short answers, and faults with a code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from trimtab.run.faults import OutsideFault

LARGEST = 10_000_000  # bytes of an answer
AGAIN = frozenset({408, 425, 429})  # statuses below 500 that may be different next time
SHOWN = 200  # characters of an answer that a message repeats


@dataclass(frozen=True)
class Answer:
    """What a server said."""

    content: bytes
    date: datetime | None  # by its clock


class Web:
    """A client of one server.

    Args:
        fault: what is raised: a kind of `OutsideFault`.
        headers: sent with every request.
        timeout: seconds of one request.
        transport: how requests travel, for tests.
    """

    def __init__(
        self,
        fault: type[OutsideFault],
        *,
        headers: Mapping[str, str],
        timeout: float,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._fault = fault
        self._client = httpx.Client(headers=headers, timeout=timeout, transport=transport)

    def request(self, method: str, url: str, **options: Any) -> Answer:
        """The answer to a request.

        Raises:
            OutsideFault: there is none in time, or its status is no success.
        """
        where = httpx.URL(url).host if "://" in url else url
        try:
            with self._client.stream(method, url, **options) as response:
                content = b""
                for part in response.iter_bytes():
                    content += part
                    if len(content) > LARGEST:
                        raise self._fault("format", f"{where} answers with over {LARGEST:,} bytes")
        except httpx.TimeoutException:
            seconds = self._client.timeout.read
            raise self._fault("timeout", f"{where} does not answer in {seconds:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._fault("unreachable", f"{where} cannot be reached: {error}") from None
        if not response.is_success:
            said = " ".join(content.decode(errors="replace").split())[:SHOWN]
            status = response.status_code
            raise self._fault(
                "status",
                f"{where} answers {status}" + (f": {said}" if said else ""),
                permanent=status < 500 and status not in AGAIN,
            )
        return Answer(content, _date(response.headers.get("date")))

    def json(self, method: str, url: str, **options: Any) -> tuple[Any, datetime | None]:
        """The JSON that a server answers with, and its date.

        Raises:
            OutsideFault: as in `request`, or it is no JSON.
        """
        answer = self.request(method, url, **options)
        return parsed(answer.content, url, self._fault), answer.date

    def close(self) -> None:
        """End the connections."""
        self._client.close()


def parsed(content: bytes, where: str, fault: type[OutsideFault]) -> Any:
    """The JSON in an answer or an output.

    Raises:
        OutsideFault: it is none, or was cut short.
    """
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise fault("format", f"{where} gives no JSON: {error}") from None


def _date(text: str | None) -> datetime | None:
    try:
        return parsedate_to_datetime(text) if text else None
    except ValueError:
        return None
