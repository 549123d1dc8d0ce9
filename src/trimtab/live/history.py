"""What has happened to a tuner: its events as rows, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trimtab.errors import InvalidInput
from trimtab.live.spec.spec import Spec
from trimtab.live.state import history as journal
from trimtab.live.state.reducer import KINDS, spec_in
from trimtab.live.state.tuner_state import State
from trimtab.live.store.event import Event, id_of
from trimtab.live.store.session import Read
from trimtab.plain.faults import whole
from trimtab.registry import suggestion

SCHEMA = "trimtab.history/1"
PLACES = ("attach", "override", "rollback", "approve", "reject")  # kinds that name a state
OF_DECISIONS = ("tell", "correct", "approve", "reject")  # kinds about an earlier decision
FIRST_WINDOW = 256  # events that are read first when only the newest rows are wanted

Measured = tuple[float, float | None, int]  # mean, its standard error or None, count


@dataclass(frozen=True, kw_only=True)
class HistoryRow:
    """An event of a tuner, in the user's names and units."""

    number: int  # of the event
    at: datetime
    kind: str  # "begin", "decide", "tell", "correct", "pause", ...
    id: str | None  # of the decision that it is, or that it is about
    round: int | None  # of a decision
    reason: str | None  # of a decision, or why somebody paused
    values: Mapping[str, float]  # by knob: those that it sets or names; empty if it does neither
    changed: tuple[str, ...]  # the knobs that it has moved
    moved: float  # the length of the move, knob by knob, in whole ranges
    price: float  # of the move, in weighted loss
    notes: tuple[str, ...]  # what held a decision back
    look: Mapping[str, Any] | None  # what a decision says of a look of the policy
    told: Mapping[str, Measured | None]  # by metric; None: taken back
    actor: str | None  # who is behind it, if anybody said so
    text: str  # one line for people

    def to_dict(self) -> dict[str, Any]:
        """The row as plain data, for other programs."""
        told = {
            name: None if x is None else {"mean": x[0], "sem": x[1], "count": x[2]}
            for name, x in self.told.items()
        }
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {
            "at": self.at.isoformat(),
            "values": dict(self.values),
            "changed": list(self.changed),
            "notes": list(self.notes),
            "look": None if self.look is None else dict(self.look),
            "told": told,
        }


@dataclass(frozen=True)
class Source:
    """A tuner's events, and what it takes to make rows of them."""

    spec: Spec
    read: Read
    last: int  # the number of the newest event

    def rows(
        self,
        *,
        after: int = 0,
        limit: int | None = None,
        newest: bool = False,
        kinds: Iterable[str] | None = None,
    ) -> list[HistoryRow]:
        """The rows that `Tuner.history` gives; its arguments."""
        first = min(whole(after, "after", low=0), self.last)
        most = None if limit is None else whole(limit, "limit", low=0)
        if not isinstance(kinds, Iterable | None):
            raise InvalidInput(f"kinds = {kinds!r}; give a list of words")
        wanted = None if kinds is None else list(kinds)
        for kind in wanted or ():
            if kind not in KINDS:
                raise InvalidInput(f"there are no events {kind!r}; {suggestion(str(kind), KINDS)}")
        if not newest or most is None:
            found = self._forward(first, wanted, None if newest else most)
            return found[::-1] if newest else found
        window = max(FIRST_WINDOW, 2 * most)
        while True:
            begin = max(first, self.last - window)
            found = self._forward(begin, wanted, None)
            if len(found) >= most or begin == first:
                return found[::-1][:most]
            window *= 4

    def _forward(self, after: int, kinds: list[str] | None, limit: int | None) -> list[HistoryRow]:
        rows: list[HistoryRow] = []
        for event, before, state in self._states(after):
            if limit is not None and len(rows) >= limit:
                break
            if kinds is None or event.kind in kinds:
                rows.append(self._row(event, before, state))
        return rows

    def _states(self, after: int) -> Iterator[tuple[Event, State, State]]:
        """Each event, with the deployed state before it and after it."""
        state = self._state_at(after)
        for event in self.read(after=after):
            if event.number > self.last:
                return
            before = state
            if event.kind == "attach" or (event.kind == "decide" and "state" in event.payload):
                state = event.payload["state"]
            yield event, before, state

    def _state_at(self, number: int) -> State:
        """The deployed state after event `number`."""
        for n in range(number, 0, -1):
            event = journal.event(self.read, n)
            if event.kind == "attach":
                found: State = event.payload["state"]
                return found
            if event.kind == "decide":
                return journal.state(self.read, event)
        start: State = self.spec.start_place if number == 0 else self._begun()
        return start

    def _begun(self) -> State:
        start: State = spec_in(journal.event(self.read, 1).payload).start_place
        return start

    def _row(self, event: Event, before: State, state: State) -> HistoryRow:
        payload, spec = event.payload, self.spec
        if event.kind == "begin":
            before = state = self._begun()
        steps = [abs(x - y) for x, y in zip(state, before, strict=True)]
        prices = [knob.stability.move_cost for knob in spec.knobs]
        placed = event.kind in ("begin", "decide")
        named = state if placed else payload.get("state") if event.kind in PLACES else None
        values = {} if named is None else spec.values(named)
        old, new = spec.values(before), spec.values(state)
        changed = tuple(name for name in new if new[name] != old[name])
        number = event.number if event.kind == "decide" else payload.get("decision")
        about = event.kind == "decide" or event.kind in OF_DECISIONS
        told = payload.get("metrics", {}) if event.kind in ("tell", "correct") else {}
        look = payload.get("look")
        row: dict[str, Any] = {
            "number": event.number,
            "at": event.at,
            "kind": event.kind,
            "id": id_of(event.tuner, number) if about and number is not None else None,
            "round": payload.get("round"),
            "reason": payload.get("reason", payload.get("why")),
            "values": values,
            "changed": changed,
            "moved": sum(steps),
            "price": sum(p * x for p, x in zip(prices, steps, strict=True)),
            "notes": tuple(payload.get("notes", ())),
            "look": None if look is None else _named(spec, look),
            "told": {name: None if x is None else tuple(x) for name, x in told.items()},
            "actor": payload.get("actor"),
        }
        proposal = payload.get("proposal")
        said = _said(spec, row, old, new, None if proposal is None else spec.values(proposal))
        return HistoryRow(**row, text=said)


def _named(spec: Spec, look: dict[str, Any]) -> dict[str, Any]:
    """A look, with the goal by knob and in units."""
    goal = look.get("goal")
    return look if goal is None else look | {"goal": spec.values(goal)}


def _said(
    spec: Spec,
    row: Mapping[str, Any],
    old: Mapping[str, float],
    new: Mapping[str, float],
    proposal: Mapping[str, float] | None,
) -> str:
    """A row in one line."""
    units = {knob.name: f" {knob.unit}".rstrip() for knob in spec.knobs}
    steps = [f"{name} {old[name]:.6g} -> {new[name]:.6g}{units[name]}" for name in row["changed"]]
    listed = ", ".join(f"{name} = {x:.6g}{units[name]}" for name, x in row["values"].items())
    kind = row["kind"]
    if kind == "decide":
        parts = [f"{row['reason']}: " + ("; ".join(steps) or "nothing was changed")]
        if proposal is not None:
            wanted = [
                f"{name} -> {x:.6g}{units[name]}" for name, x in proposal.items() if x != new[name]
            ]
            parts.append(f"proposes {'; '.join(wanted)}")
        return "; ".join([*parts, *row["notes"]])
    if kind in ("tell", "correct"):
        told = [
            f"{name} taken back" if x is None else f"{name} = {x[0]:.6g}"
            for name, x in row["told"].items()
        ]
        return f"{row['id']}: " + (", ".join(told) or "nothing was measured")
    why = f" ({row['reason']})" if row["reason"] else ""
    if kind == "attach":
        return "set by hand: " + ("; ".join(steps) or "nothing was changed") + why
    if kind in ("approve", "reject"):
        return f"{kind} {row['id']}: {listed}{why}"
    if kind in ("begin", "override", "rollback"):
        return f"{kind}: {listed}{why}"
    return kind if row["reason"] is None else f"{kind}: {row['reason']}"
