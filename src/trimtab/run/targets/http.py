"""Values set by a signed HTTP request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import httpx

from trimtab.run.faults import TargetFault
from trimtab.run.signing import body_of, signed_headers
from trimtab.run.targets.target import Names, Order
from trimtab.run.web import Web


class HttpTarget:
    """Sends the order to a URL; another URL may answer with what holds now.

    Args:
        url: gets the order.
        method: PUT, POST or PATCH.
        read_url: answers with values by name, or with an object that has them at `values`.
        secret: the key of the signature (`signing`); None: it is not signed.
        headers: sent with every request.
        names: what knobs are called there.
        timeout: seconds of one request.
        clock: the time.
        transport: how requests travel, for tests.
    """

    def __init__(
        self,
        url: str,
        *,
        method: str,
        read_url: str | None,
        secret: str | None,
        headers: Mapping[str, str],
        names: Names,
        timeout: float,
        clock: Callable[[], datetime],
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._url, self._method, self._read_url = url, method, read_url
        self._secret, self._names, self._clock = secret, names, clock
        self._web = Web(TargetFault, headers=headers, timeout=timeout, transport=transport)
        self.readable = read_url is not None

    def push(self, order: Order) -> None:
        """Set all values.

        Raises:
            TargetFault: the server cannot be reached, or refuses.
        """
        body = body_of(order.to_dict(self._names))
        headers = signed_headers(
            body,
            delivery=order.decision,
            secret=self._secret,
            seconds=int(self._clock().timestamp()),
        )
        self._web.request(self._method, self._url, content=body, headers=headers)

    def read(self) -> dict[str, float]:
        """The values that hold now.

        Raises:
            TargetFault: the server cannot be reached, or answers with something else.
        """
        if self._read_url is None:
            raise TargetFault("format", "no read_url is known that answers with values")
        answer: Any
        answer, _ = self._web.json("GET", self._read_url)
        if isinstance(answer, dict) and isinstance(answer.get("values"), dict):
            answer = answer["values"]
        return self._names.inward(answer, self._read_url)

    def close(self) -> None:
        """End the connection."""
        self._web.close()
