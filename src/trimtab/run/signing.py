"""Signed bodies: the receiver can check that we wrote them, and when.

The header `X-Trimtab-Signature` is `t=<seconds since 1970>,v1=<hex>`, where hex is the
HMAC-SHA256 of `<seconds>.<body>` with the shared secret as the key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from typing import Any

HEADER = "X-Trimtab-Signature"
DELIVERY = "X-Trimtab-Delivery"  # the same for every attempt: the receiver can drop repetitions
OLDEST = 300  # seconds after which a signature is not accepted any more


def body_of(content: dict[str, Any]) -> bytes:
    """A JSON object as it is sent and signed."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


def signed_headers(
    body: bytes, *, delivery: str, secret: str | None, seconds: int
) -> dict[str, str]:
    """The headers of a body that is sent at this time."""
    headers = {"Content-Type": "application/json", DELIVERY: delivery}
    if secret is not None:
        headers[HEADER] = f"t={seconds},v1={_digest(body, secret, seconds)}"
    return headers


def verify(body: bytes, header: str, secret: str, *, now: int) -> bool:
    """Whether the body was signed with the secret, not more than five minutes ago.

    >>> headers = signed_headers(b"{}", delivery="1", secret="hush", seconds=1000)
    >>> verify(b"{}", headers[HEADER], "hush", now=1010)
    True
    >>> verify(b"{ }", headers[HEADER], "hush", now=1010)
    False
    """
    match = re.fullmatch(r"t=([0-9]{1,15}),v1=([0-9a-f]{64})", header)
    if match is None or abs(now - int(match[1])) > OLDEST:
        return False
    return hmac.compare_digest(match[2], _digest(body, secret, int(match[1])))


def _digest(body: bytes, secret: str, seconds: int) -> str:
    return hmac.new(secret.encode(), b"%d." % seconds + body, hashlib.sha256).hexdigest()
