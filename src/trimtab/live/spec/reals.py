"""Numbers that a live system reports: any real number that a float can hold."""

from __future__ import annotations

from numbers import Real
from typing import Any

from trimtab.errors import InvalidInput


def real(value: Any, name: str) -> float:
    """The value as a float; NaN and the infinities are left to the caller.

    >>> real(3, "latency")
    3.0

    Raises:
        InvalidInput: no number, or one that no float can hold.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise InvalidInput(f"{name} is too large for a float; check its unit") from None
    raise InvalidInput(f"{name} is a {type(value).__name__}; give a number")
