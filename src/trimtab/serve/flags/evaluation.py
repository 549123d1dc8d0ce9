"""A knob's value as a flag: typed, with the decision that set it and why.

The key of a flag is the tuner's name, a dot, and the knob's: `search.cache_ttl`. Reading a
flag makes no decision: its value is the one that is deployed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trimtab.errors import InvalidInput, NotFound
from trimtab.live.tuner import Tuner
from trimtab.serve.access.roles import Identity
from trimtab.serve.service import Service

MOST = 100  # tuners in one answer
START = "start"  # the variant before the first decision


@dataclass(frozen=True, kw_only=True)
class Flag:
    """One knob's value."""

    key: str
    value: float
    variant: str  # the id of the decision
    reason: str  # one of OpenFeature's
    metadata: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The flag as OFREP gives it."""
        return dict(vars(self))


def flags_of(tuner: Tuner) -> list[Flag]:
    """The flags of a tuner, one per knob."""
    status = tuner.status()
    try:
        last = tuner.explain("last").decision
    except NotFound:
        variant, why, standard = START, "no decision yet", "DEFAULT"
    else:
        chosen = status.mode == "tuning"
        variant, why = last.id, last.reason
        standard = "TARGETING_MATCH" if chosen else "STATIC"
    about = {"tuner": tuner.name, "mode": status.mode, "why": why}
    units = {knob.name: knob.unit for knob in tuner.recorded_spec().knobs}
    return [
        Flag(
            key=f"{tuner.name}.{knob}",
            value=value,
            variant=variant,
            reason=standard,
            metadata=about | {"knob": knob, "unit": units[knob]},
        )
        for knob, value in status.values.items()
    ]


def flag(service: Service, who: Identity, key: str) -> Flag:
    """The flag of this key.

    Raises:
        NotFound: there is none, or none that this token may read.
    """
    tuner, _, _ = key.rpartition(".")
    if not tuner.isprintable() or not tuner or not who.may("flags", tuner):
        raise NotFound(
            f"no flag {key[:200]!r}; its key is the tuner's name, a dot, the knob's name"
        )
    for each in flags_of(service.tuners.get(tuner)):
        if each.key == key:
            return each
    raise NotFound(f"tuner {tuner!r} has no knob of the flag {key[:200]!r}")


def all_flags(service: Service, who: Identity) -> Iterator[Flag]:
    """Every flag that this token may read.

    Raises:
        InvalidInput: there are too many tuners for one answer.
    """
    names = service.tables.names(limit=MOST + 1, only=who.tuner)
    if len(names) > MOST:
        raise InvalidInput(
            f"there are more than {MOST} tuners: read flags one by one, or by a token of one tuner"
        )
    for name in names:
        yield from flags_of(service.tuners.get(name))


def tag_of(content: Any) -> str:
    """An ETag of what is answered."""
    text = json.dumps(content, sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
