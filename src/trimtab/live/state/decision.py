"""What a tuner answers when it is asked: values for all knobs, and why these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from trimtab.display import displayed
from trimtab.live.spec.spec import Spec
from trimtab.live.store.event import Event, id_of

SCHEMA = "trimtab.decision/1"
Reason = Literal["hold", "move", "guard", "manual", "rollback"]


@displayed
@dataclass(frozen=True, kw_only=True, repr=False)
class Decision:
    """The values to play until the next decision; tell what they led to by its `id`.

    The reason is *hold* (nothing better is known, or the tuning is paused), *move* (the policy
    wants these values), *guard* (it wants others, and a guard keeps it from all or part
    of the way), *manual* (somebody has set or ordered them) or *rollback* (on the way
    to the last good state).
    """

    id: str
    round: int  # decisions before it, and itself
    at: datetime
    values: Mapping[str, float]  # by knob, in its unit
    previous: Mapping[str, float]  # what they were before
    reason: Reason
    next_review: int | None  # rounds until the policy looks again if everything is told
    notes: tuple[str, ...] = ()  # what held it back, in words
    proposal: Mapping[str, float] | None = None  # of shadow mode, or to be approved
    client: str | None = None
    actor: str | None = None  # who is behind it, if anybody said so

    def __repr__(self) -> str:
        steps = [f"{x} {self.previous[x]:.6g} -> {self.values[x]:.6g}" for x in self.changed]
        return f"<Decision {self.id}: {self.reason}{': ' * bool(steps)}{', '.join(steps)}>"

    @property
    def changed(self) -> tuple[str, ...]:
        """The knobs whose values differ from those before."""
        return tuple(name for name, x in self.values.items() if x != self.previous[name])

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain data, for other programs."""
        plain = {"schema": SCHEMA} | asdict(self)
        return plain | {
            "at": self.at.isoformat(),
            "changed": list(self.changed),
            "notes": list(self.notes),
        }


def decision_of(spec: Spec, event: Event, state: list[float]) -> Decision:
    """The decision that an event recorded; `state` is the one it deployed."""
    payload = event.payload
    proposal = payload.get("proposal")
    return Decision(
        id=id_of(event.tuner, event.number),
        round=payload["round"],
        at=event.at,
        values=spec.values(state),
        previous=spec.values(payload.get("from", state)),
        reason=payload["reason"],
        next_review=payload["review"],
        notes=tuple(payload.get("notes", ())),
        proposal=None if proposal is None else spec.values(proposal),
        client=payload["client"],
        actor=payload.get("actor"),
    )
