"""What is wrong with plain data: where, which value, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

from trimtab.errors import InvalidInput

LONGEST = 60  # characters of a value that a message repeats
MOST = 20  # faults that one message lists
SECRET = re.compile(r":(//)?.*@", re.DOTALL)  # a password may hold blanks, and any other sign
NAMED = re.compile(r"(pass\w*\s*=).*", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a spec or a sweep.

    A fault is *structural* if the published schema refuses it as well: a missing or unknown
    key, a value of the wrong type or out of bounds. Otherwise one has to compare two
    places at once to see it, or at what a string means.
    """

    path: str  # inside the file: "knobs.ttl.scale", "constraints[0].rule"; "" for all of it
    text: str  # begins with " = value: " or ": "
    structural: bool = True

    def __str__(self) -> str:
        return f"{self.path}{self.text}" if self.path else self.text.removeprefix(": ")


def refuse(faults: Iterable[Fault], source: str = "") -> None:
    """Raise one error that lists all faults of the source, if there are any.

    Raises:
        InvalidInput: there are some.
    """
    lines = [str(fault) for fault in faults]
    if len(lines) == 1:
        raise InvalidInput(f"{source}: {lines[0]}" if source else lines[0])
    if lines:
        more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
        listed = "\n".join(f"- {line}" for line in (*lines[:MOST], *more))
        has = f"{source} has" if source else "there are"
        raise InvalidInput(f"{has} {len(lines)} problems:\n{listed}")


def shown(value: Any) -> str:
    """A value as a message repeats it: cut short, on one line, without passwords.

    >>> shown("postgresql://me:secret@host/db")
    "'postgresql://...@host/db'"
    >>> shown({"a": 1, "b": 2}), shown(list(range(100)))[-5:]
    ('a table', '16...')
    """
    if isinstance(value, dict):
        return "a table"
    try:
        text = masked(repr(value))
    except (ValueError, RecursionError):  # more digits, or deeper nested, than Python prints
        return f"a {type(value).__name__} too large to print"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def masked(text: str) -> str:
    """A text without what may be a password: up to the last @, and after `password=`.

    >>> masked("mysql:me:a b@host"), masked("host=db password=x y"), masked("at noon")
    ('mysql:...@host', 'host=db password=...', 'at noon')
    """
    return NAMED.sub(r"\1...", SECRET.sub(r":\1...@", text))


def real(value: Any, name: str) -> float:
    """Any real number that a float can hold, as one; NaN and the infinities are left to the caller.

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


def whole(value: Any, name: str, *, low: int) -> int:
    """A whole number, at least `low`.

    Raises:
        InvalidInput: another number, or none.
    """
    x = real(value, name)
    if x != x // 1:  # NaN and the infinities as well
        raise InvalidInput(f"{name} = {value!r}; give a whole number")
    n = int(value)  # exact, however large
    if n < low:
        raise InvalidInput(f"{name} = {n}; it must be at least {low}")
    return n
