"""What a tell adds to the journal: what is new in it, or what it corrects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.errors import Conflict
from trimtab.live.state.commands import Entry
from trimtab.live.state.history import Known
from trimtab.live.state.measurement import Plain


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What came of a tell."""

    id: str  # of the decision
    events: tuple[int, ...]  # that it has added; none if all was told before

    @property
    def repeated(self) -> bool:
        """Whether it said nothing new."""
        return not self.events

    def to_dict(self) -> dict[str, Any]:
        """The receipt as plain data, for other programs."""
        return {"id": self.id, "events": list(self.events), "repeated": self.repeated}


def entries_of(
    known: Known,
    told: Mapping[str, Plain],
    gone: Iterable[str],
    *,
    correct: bool,
    answers: bool = True,
) -> list[Entry]:
    """The events that a tell amounts to: what was not told yet, and what is corrected.

    A tell `answers` the decision even if it says nothing, unless it is of the control arm.

    Raises:
        Conflict: something else was told before, and this is no correction.
    """
    fresh = {name: x for name, x in told.items() if name not in known.told}
    other = {name: x for name, x in told.items() if known.told.get(name, x) != x}
    if other and not correct:
        name, (mean, _, _) = next(iter(other.items()))
        before = known.told[name]
        said = "it was taken back" if before is None else f"it was told as {before[0]:.12g}"
        raise Conflict(
            f"{name} = {mean:.12g}: {said}, with another count or error perhaps; if this is "
            "right, send it as a correction"
        )
    entries: list[Entry] = []
    if fresh or (answers and not known.answered):
        payload: dict[str, Any] = {"decision": known.number, "metrics": fresh}
        late = {} if known.late is None else {"late": known.late}
        entries.append(("tell", payload | late))
    back = [name for name in gone if correct and known.told.get(name) is not None]
    if other or back:
        changed = other | dict.fromkeys(back)
        entries.append(("correct", {"decision": known.number, "metrics": changed}))
    return entries
