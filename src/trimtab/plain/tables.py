"""Lists and tables: shapes that are made of other shapes.

What is wrong in one place does not keep the rest from being read: a table comes back without the
entries that were refused, a list with `REFUSED` in their places. Whether all is well only the
faults tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from trimtab.plain.faults import Fault, shown
from trimtab.plain.shapes import REFUSED, Anything, Choice, Json, Shape, Text, refused
from trimtab.registry import suggestion

ANYTHING = Anything()


def _whole(shape: Shape, value: Any, path: str, faults: list[Fault]) -> Any:
    """The value if nothing in it is wrong, else `REFUSED`."""
    before = len(faults)
    read = shape.read(value, path, faults)
    return read if len(faults) == before else REFUSED


@dataclass(frozen=True)
class Items:
    """A list of things of one shape."""

    item: Shape
    least: int = 0
    distinct: bool = False

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The list, every item read."""
        if not isinstance(value, list | tuple) or len(value) < self.least:
            some = "at least one item" if self.least else "[...]"
            return refused(value, path, faults, f"give a list of {some}")
        read = [_whole(self.item, x, f"{path}[{i}]", faults) for i, x in enumerate(value)]
        if self.distinct and len(set(read)) < len(read):
            twice = next(x for i, x in enumerate(read) if x in read[:i])
            if twice is not REFUSED:
                return refused(value, path, faults, f"{twice!r} is listed twice; name it once")
        return read

    def schema(self) -> Json:
        """An array."""
        array: Json = {"type": "array", "items": self.item.schema(), "minItems": self.least}
        return array | {"uniqueItems": True} if self.distinct else array


@dataclass(frozen=True)
class Named:
    """A table whose keys are names of the user's choice."""

    name: Text
    item: Shape
    least: int = 0

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The table, every entry read."""
        if not isinstance(value, Mapping):
            text = f"write a table, [{path}] or [{path}.<name>]"
            return refused(value, path, faults, text)
        if len(value) < self.least:
            faults.append(Fault(path, f": it is empty; add [{path}.<name>]"))
            return REFUSED
        read = {}
        for name, item in value.items():
            good = self.name.read(name, f"{path}: name", faults)
            read[good] = _whole(self.item, item, f"{path}.{shown_key(name)}", faults)
        return {name: item for name, item in read.items() if name is not REFUSED is not item}

    def schema(self) -> Json:
        """An object with free keys."""
        return {
            "type": "object",
            "propertyNames": self.name.schema(),
            "additionalProperties": self.item.schema(),
            "minProperties": self.least,
        }


@dataclass(frozen=True)
class Field:
    """A key of a table."""

    shape: Shape
    says: str  # what it means, for the schema
    required: bool = False

    def schema(self) -> Json:
        """The schema of its shape, with the meaning."""
        return {"description": self.says, **self.shape.schema()}


@dataclass(frozen=True)
class Table:
    """A table with given keys, some of which may be left out; no others."""

    fields: Mapping[str, Field]

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The keys that are there, each value read."""
        if not isinstance(value, Mapping):
            return refused(value, path or "the spec", faults, f"write a table, [{path}]")
        read = {}
        dot = f"{path}." if path else ""
        for key, item in value.items():
            if key in self.fields:
                read[key] = self.fields[key].shape.read(item, dot + key, faults)
            else:
                hint = suggestion(str(key), self.fields)
                faults.append(Fault(dot + shown_key(key), f": no such key; {hint}"))
        faults += [
            Fault(dot + key, f": it is missing; it is {field.says}")
            for key, field in self.fields.items()
            if field.required and key not in value
        ]
        return {key: item for key, item in read.items() if item is not REFUSED}

    def schema(self) -> Json:
        """An object without other keys."""
        return {
            "type": "object",
            "properties": {key: field.schema() for key, field in self.fields.items()},
            "required": [key for key, field in self.fields.items() if field.required],
            "additionalProperties": False,
        }


class WithFields(Protocol):
    """A table by its keys; nothing else of it is asked for."""

    @property
    def fields(self) -> Mapping[str, Field]:
        """Every key."""


def arguments(
    make: Callable[..., Any],
    *,
    item: Shape = ANYTHING,
    shapes: Mapping[str, Shape] | None = None,
    given: Collection[str] = (),
    filled: Collection[str] = (),
) -> dict[str, Field]:
    """The arguments of a function or class as keys of a table; what has no default is required.

    >>> arguments(pow, filled={"base"}).keys(), arguments(pow)["exp"].required
    (dict_keys(['base', 'exp', 'mod']), True)

    Args:
        make: the function or class.
        item: the shape of an argument.
        shapes: those of some others, by name.
        given: arguments that are no keys.
        filled: arguments that nobody needs to give.
    """
    from inspect import signature

    special = shapes or {}
    return {
        each.name: Field(
            special.get(each.name, item),
            f"an argument of {getattr(make, '__name__', 'it')}",
            required=each.default is each.empty and each.name not in filled,
        )
        for each in signature(make).parameters.values()
        if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL) and each.name not in given
    }


@dataclass(frozen=True)
class Or:
    """A simple value, or a table."""

    simple: Shape
    table: Shape

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The value or the table."""
        shape = self.table if isinstance(value, Mapping) else self.simple
        return shape.read(value, path, faults)

    def schema(self) -> Json:
        """Any of both."""
        return {"anyOf": [self.simple.schema(), self.table.schema()]}


@dataclass(frozen=True)
class Switch:
    """A table whose other keys depend on the word at one of them; the first is the default."""

    key: str
    says: str  # what the word means
    cases: Mapping[str, WithFields]
    joined: Callable[[str], WithFields | None] = lambda word: None  # a word that users have added
    needed: bool = False  # there is no default

    def read(self, value: Any, path: str, faults: list[Fault]) -> Any:
        """The table of the case that its word names."""
        if not isinstance(value, Mapping):
            return refused(value, path, faults, f"write a table, [{path}]")
        if self.needed and self.key not in value:
            hint = suggestion("", self.cases)
            faults.append(Fault(f"{path}.{self.key}", f": it is missing; {hint}"))
            return REFUSED
        word = value.get(self.key, next(iter(self.cases)))
        table = self.cases.get(word) if isinstance(word, str) else None
        if table is None and isinstance(word, str):
            table = self.joined(word)
        if table is None:
            return Choice(tuple(self.cases)).read(word, f"{path}.{self.key}", faults)
        return self._case(word, table).read(value, path, faults)

    def _case(self, word: str, table: WithFields) -> Table:
        choice = Field(Choice((word,)), self.says)
        return Table({self.key: choice, **table.fields})

    def schema(self) -> Json:
        """An object, and one condition per case."""
        first, *_ = self.cases
        words = {"description": self.says, **Choice(tuple(self.cases)).schema()}
        needed: Json = {"required": [self.key]} if self.needed else {}
        return needed | {
            "type": "object",
            "properties": {self.key: words},
            "allOf": [
                {
                    "if": {
                        "properties": {self.key: {"const": word}},
                        "required": [] if word == first else [self.key],
                    },
                    "then": self._case(word, self.cases[word]).schema(),
                }
                for word in self.cases
            ],
        }


def shown_key(key: Any) -> str:
    """A key as a path repeats it: quoted where TOML would want it quoted."""
    bare = isinstance(key, str) and re.fullmatch(r"[A-Za-z0-9_-]+", key)
    return key if bare and len(key) <= 64 else shown(key)
