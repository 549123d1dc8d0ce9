"""What values plain data may hold, key by key: one description, which reads and which publishes.

A shape turns a plain value into a checked one (`read`) and describes itself in JSON Schema
(`schema`), so that the reader and the published schema cannot drift apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol

from trimtab.plain.faults import Fault, shown
from trimtab.registry import suggestion

LARGEST = 1e100  # of any number in a spec
REFUSED: Any = object()  # what `read` gives beside a fault
Json = dict[str, Any]


class Shape(Protocol):
    """A kind of value."""

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The value, checked, or `REFUSED` with a new fault."""

    def schema(self) -> Json:
        """The same in JSON Schema."""


def refused(value: Any, path: str, faults: list[Fault], text: str) -> Any:
    """`REFUSED`, and a fault that says why."""
    faults.append(Fault(path, f" = {shown(value)}: {text}"))
    return REFUSED


@dataclass(frozen=True, kw_only=True)
class Number:
    """A finite number between two others, as a float."""

    low: float = -LARGEST
    high: float = LARGEST
    above: bool = False  # low itself is not allowed
    below: bool = False  # high itself is not allowed

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The number as a float."""
        good = isinstance(value, int | float) and not isinstance(value, bool)
        good = good and (value > self.low if self.above else value >= self.low)
        good = good and (value < self.high if self.below else value <= self.high)
        return float(value) if good else refused(value, path, faults, self.hint)

    @property
    def hint(self) -> str:
        """What to write."""
        ends = []
        if self.low > -LARGEST:
            ends.append(f"{'above' if self.above else 'of at least'} {self.low:g}")
        if self.high < LARGEST:
            ends.append(f"{'below' if self.below else 'at most'} {self.high:g}")
        return " ".join(("give a number", " and ".join(ends))).strip()

    def schema(self) -> Json:
        """A number with its ends."""
        return {
            "type": "number",
            "exclusiveMinimum" if self.above else "minimum": self.low,
            "exclusiveMaximum" if self.below else "maximum": self.high,
        }


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A whole number between two others."""

    low: int
    high: int

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The number as an int; 3.0 is one, as in JSON Schema."""
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if whole and not isinstance(value, bool) and self.low <= value <= self.high:
            return int(value)
        return refused(value, path, faults, self.hint)

    @property
    def hint(self) -> str:
        """What to write."""
        return f"give a whole number from {self.low:,} to {self.high:,}"

    def schema(self) -> Json:
        """An integer with its ends."""
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The truth value."""
        good = isinstance(value, bool)
        return value if good else refused(value, path, faults, "write true or false, no quotes")

    def schema(self) -> Json:
        """A boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Text:
    """A string that matches a pattern as a whole."""

    pattern: str
    hint: str  # what to write
    secret: bool = False  # a message does not show it

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The string."""
        if isinstance(value, str) and re.fullmatch(self.pattern, value):
            return value
        if self.secret:
            faults.append(Fault(path, f": {self.hint} (its value is not shown: it may be secret)"))
            return REFUSED
        return refused(value, path, faults, self.hint)

    def schema(self) -> Json:
        """A string with its pattern."""
        # In some dialects $ also matches before a last newline.
        return {"type": "string", "pattern": f"^(?:{self.pattern})$(?!\\n)"}


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    options: tuple[str, ...]

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The word."""
        if isinstance(value, str) and value in self.options:
            return value
        word = value if isinstance(value, str) else ""
        return refused(value, path, faults, suggestion(word, self.options))

    @property
    def hint(self) -> str:
        """What to write."""
        return suggestion("", self.options)

    def schema(self) -> Json:
        """An enumeration."""
        return {"enum": list(self.options)}


@dataclass(frozen=True)
class Scalar:
    """A number, a string, or true or false: an option of somebody's own policy."""

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The value as it is."""
        good = isinstance(value, bool | int | float | str)
        return value if good else refused(value, path, faults, "give a number, a string or a flag")

    def schema(self) -> Json:
        """Any of them."""
        return {"type": ["number", "string", "boolean"]}


@dataclass(frozen=True)
class Anything:
    """Any value: whoever is given it checks it."""

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The value as it is."""
        return value

    def schema(self) -> Json:
        """No condition."""
        return {}


@dataclass(frozen=True)
class Either:
    """A string of one shape, or a number of another."""

    text: Text | Choice
    number: Number | Whole

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The value, by the shape of its type."""
        shape: Shape = self.text if isinstance(value, str) else self.number
        read = shape.read(value, path, [])
        if read is REFUSED:
            return refused(value, path, faults, f"{self.number.hint}, or {self.text.hint}")
        return read

    def schema(self) -> Json:
        """Any of both."""
        return {"anyOf": [self.number.schema(), self.text.schema()]}
