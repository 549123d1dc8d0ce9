"""Settings: plain values that can be stored, compared, sent elsewhere and written in TOML."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trimtab.errors import InvalidInput

Settings = dict[str, Any]


def plain(value: Any, where: str) -> Any:
    """The value in tables, lists, numbers, strings and booleans alone.

    >>> plain({"start": np.array([0.5, 1.0]), "seed": np.int64(3)}, "policy")
    {'start': [0.5, 1.0], 'seed': 3}
    """
    if isinstance(value, Mapping):
        return {_name(key, where): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInput(
        f"{where} is a {type(value).__name__}, which cannot be stored or sent; describe it by a "
        'table, such as {"kind": "Quadratic"}, or by numbers, strings and lists'
    )


def _name(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"{where} has the key {key!r}; keys are strings")
    return key


def text(settings: Any) -> str:
    """The settings as JSON, the same for equal settings."""
    return json.dumps(settings, sort_keys=True, separators=(",", ":"))


def digest(settings: Any) -> str:
    """The SHA-256 digest of the settings, whatever the order of their keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 2.5})
    True
    """
    return hashlib.sha256(text(settings).encode()).hexdigest()


def expand(name: str, settings: Settings) -> dict[str, Settings]:
    """All settings that those with ``{"each": [...]}`` in the place of values stand for.

    >>> expand("lazy", {"kind": "LazyGraphLinUCB", "factor": {"each": [1.5, 2]}})
    {'lazy factor=1.5': {'kind': 'LazyGraphLinUCB', 'factor': 1.5}, 'lazy factor=2': ...}
    """
    found = [(name, settings)]
    for path, values in _choices(settings, ()):
        if not isinstance(values, list) or not values:
            raise InvalidInput(f"{name}: {'.'.join(path)}.each = {values!r}; list the values")
        found = [
            (f"{label} {path[-1]}={_label(value)}", _put(one, path, value))
            for label, one in found
            for value in values
        ]
    expanded = dict(found)
    if len(expanded) < len(found):
        raise InvalidInput(f"{name}: a value is listed twice under 'each'; list each value once")
    return expanded


def _choices(settings: Settings, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            if value.keys() == {"each"}:
                yield (*path, key), value["each"]
            else:
                yield from _choices(value, (*path, key))


def _put(settings: Settings, path: tuple[str, ...], value: Any) -> Settings:
    key, *rest = path
    return {**settings, key: _put(settings[key], tuple(rest), value) if rest else value}


def _label(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(_label(item) for item in value.values())
    return value if isinstance(value, str) else text(value)
