"""Kinds: what a table with a `kind` stands for, which options it takes, and how it is made.

The options of a kind are the arguments of what makes it, so that a description says
nothing that Python would not say in the same words.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from trimtab.errors import InvalidInput
from trimtab.registry import Registry, suggestion
from trimtab.sweeps.describe.settings import Settings


@dataclass(frozen=True)
class Kind:
    """Something that a table can describe."""

    make: Callable[..., Any]
    parts: Mapping[str, Kinds] = field(default_factory=dict)  # options that are tables themselves
    filled: frozenset[str] = frozenset()  # options that nobody needs to give

    @cached_property
    def options(self) -> frozenset[str]:
        """The names of all options."""
        return frozenset(p.name for p in self._parameters if p.kind is not p.VAR_KEYWORD)

    @cached_property
    def required(self) -> frozenset[str]:
        """The options that have no default."""
        named = (p for p in self._parameters if p.kind is not p.VAR_KEYWORD)
        return frozenset(p.name for p in named if p.default is p.empty) - self.filled

    @property
    def _parameters(self) -> list[inspect.Parameter]:
        return list(inspect.signature(self.make).parameters.values())


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


def kind_of(settings: Any, kinds: Kinds, where: str) -> tuple[str, Kind]:
    """The kind that the settings name; where there is only one, they need not."""
    if not isinstance(settings, dict):
        raise InvalidInput(
            f"{where} = {settings!r}; describe it by a table with a kind (known: "
            f"{', '.join(sorted(kinds))})"
        )
    only = next(iter(kinds)) if len(kinds) == 1 else None
    name = settings.get("kind", only)
    if name is None:
        raise InvalidInput(f"{where} has no kind; choose one of {', '.join(sorted(kinds))}")
    if not isinstance(name, str) or name not in kinds:
        raise InvalidInput(f"{where}.kind = {name!r} is unknown; {suggestion(name, kinds)}")
    return name, kinds[name]


def check(settings: Any, kinds: Kinds, where: str, *, also: frozenset[str] = frozenset()) -> None:
    """Refuse settings of an unknown kind, with an unknown option or without one they need."""
    name, kind = kind_of(settings, kinds, where)
    known = kind.options | also
    for key, value in settings.items():
        if key != "kind" and key not in known:
            raise InvalidInput(
                f"{where}.{key} is no option of {name}; {suggestion(key, known | {'kind'})}"
            )
        if key in kind.parts and isinstance(value, dict):
            check(value, kind.parts[key], f"{where}.{key}")
    missing = sorted(kind.required - settings.keys())
    if missing:
        raise InvalidInput(f"{where} lacks {', '.join(missing)}, which {name} needs; add it")


def make(settings: Settings, kinds: Kinds, **filled: Any) -> Any:
    """What checked settings describe; options they leave open are filled in where they exist."""
    _, kind = kind_of(settings, kinds, "settings")
    given = {
        key: make(value, kind.parts[key])
        if key in kind.parts and isinstance(value, dict)
        else value
        for key, value in settings.items()
        if key != "kind"
    }
    fill = {key: value for key, value in filled.items() if key in kind.options}
    return kind.make(**{**fill, **given})
