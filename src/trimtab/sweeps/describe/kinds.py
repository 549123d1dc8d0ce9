"""Kinds: what a table with a `kind` stands for, which options it takes, and how it is made.

The options of a kind are the arguments of what makes it, so that a description says
nothing that Python would not say in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from trimtab.plain.faults import Fault
from trimtab.plain.tables import ANYTHING, Field, Or, Switch, WithFields, arguments
from trimtab.registry import Registry
from trimtab.sweeps.describe.settings import Settings


@dataclass(frozen=True)
class Kind:
    """Something that a table can describe: its keys are the arguments of what makes it."""

    make: Callable[..., Any]
    parts: Mapping[str, Kinds] = field(default_factory=dict)  # options that are tables themselves
    filled: frozenset[str] = frozenset()  # options that nobody needs to give

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """The options; their values are checked by what is made of them."""
        shapes = {key: Or(ANYTHING, shape_of(kinds)) for key, kinds in self.parts.items()}
        return arguments(self.make, shapes=shapes, filled=self.filled)


Kinds = Mapping[str, Kind]


class Listed(Mapping[str, Kind]):
    """What a registry lists, as kinds; what joins it later is there too.

    Args:
        registry: the list.
        kind: the kind of one entry of it.
        beside: kinds that are in no list.
    """

    def __init__(
        self, registry: Registry, kind: Callable[[Any], Kind], *, beside: Kinds | None = None
    ) -> None:
        self._registry, self._kind, self._beside = registry, cache(kind), beside or {}

    def __getitem__(self, name: str) -> Kind:
        return self._beside[name] if name in self._beside else self._kind(self._registry[name])

    def __iter__(self) -> Iterator[str]:
        return iter((*self._registry, *self._beside))

    def __len__(self) -> int:
        return len(self._registry) + len(self._beside)


def shape_of(kinds: Mapping[str, WithFields]) -> Switch:
    """The tables that describe one of the kinds; where there is only one, they need not name it."""
    return Switch("kind", "what it describes", kinds, needed=len(kinds) > 1)


def faults_of(settings: Any, kinds: Mapping[str, WithFields], where: str) -> list[Fault]:
    """What is wrong with a table: an unknown kind, an unknown option, or one that is missing."""
    faults: list[Fault] = []
    shape_of(kinds).read(settings, where, faults)
    return faults


def make(settings: Settings, kinds: Kinds, **filled: Any) -> Any:
    """What checked settings describe; options they leave open are filled in where they exist."""
    kind = kinds[settings.get("kind", next(iter(kinds)))]
    given = {
        key: make(value, kind.parts[key])
        if key in kind.parts and isinstance(value, dict)
        else value
        for key, value in settings.items()
        if key != "kind"
    }
    fill = {key: value for key, value in filled.items() if key in kind.fields}
    return kind.make(**{**fill, **given})
