"""Notices: what people want to be told of, found by comparing where a tuner stands with before.

Each notice is an event of the journal, which holds what it was compared with. So a loop that was
ended between a breach and its notice finds the difference when it begins anew, and none is told
twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from trimtab.live.clock import stamp
from trimtab.live.explain import CAUSES
from trimtab.live.status import Status
from trimtab.live.store.event import Draft, Event
from trimtab.live.store.journal import Journal
from trimtab.run.log import Log
from trimtab.run.placing import ACTOR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trimtab.live.state.decision import Decision
    from trimtab.run.loop import Loop

KIND = "notice"  # of the events


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a tuner stands, as far as notices need it."""

    paused: str | None = None  # why
    broken: tuple[str, ...] = ()  # rules
    rollbacks: int = 0
    alarm: int = 0  # the event of the last decision that reports one
    stuck: bool = False
    proposed: str | None = None  # the decision that waits for approval

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Standing:
        """The standing that an event holds."""
        return cls(**{**plain, "broken": tuple(plain["broken"])})


@dataclass(frozen=True, kw_only=True)
class Notice:
    """Something that people want to know."""

    event: str  # one of `layout.EVENTS`
    text: str
    standing: Standing  # once it is told


def standing_of(status: Status, *, alarm: int, stuck: bool) -> Standing:
    """Where the tuner stands now."""
    return Standing(
        paused=status.why,
        broken=tuple(rule for rule, holds in status.constraints.items() if holds is False),
        rollbacks=status.rollbacks,
        alarm=alarm,
        stuck=stuck,
        proposed=status.proposed_by,
    )


def news(before: Standing, now: Standing, *, why: str = "") -> Iterator[Notice]:
    """The notices that lead from one standing to the other, in order.

    >>> [n.event for n in news(Standing(), Standing(broken=("p95 <= 9",), rollbacks=1))]
    ['breach', 'rollback']
    >>> list(news(Standing(broken=("p95 <= 9",)), Standing()))
    []
    """
    here = replace(before, broken=tuple(r for r in before.broken if r in now.broken))
    if now.paused is None:
        here = replace(here, paused=None)
    here = replace(here, stuck=here.stuck and now.stuck)
    if now.proposed is None:
        here = replace(here, proposed=None)
    if now.alarm > here.alarm:
        here = replace(here, alarm=now.alarm)
        yield Notice(event="alarm", text=CAUSES["alarm"], standing=here)
    for rule in now.broken:
        if rule not in here.broken:
            here = replace(here, broken=(*here.broken, rule))
            yield Notice(event="breach", text=f"{rule} does not hold", standing=here)
    if now.rollbacks > here.rollbacks:
        here = replace(here, rollbacks=now.rollbacks)
        yield Notice(event="rollback", text="back to the last good state", standing=here)
    if now.paused is not None and now.paused != here.paused:
        here = replace(here, paused=now.paused)
        yield Notice(event="pause", text=now.paused, standing=here)
    if now.stuck and not here.stuck:
        here = replace(here, stuck=True)
        yield Notice(event="stuck", text=why, standing=here)
    if now.proposed is not None and now.proposed != here.proposed:
        here = replace(here, proposed=now.proposed)
        yield Notice(event="proposal", text=f"{now.proposed} waits for approval", standing=here)


class Noticing:
    """Watches a loop, and writes notices into the journal.

    Args:
        journal: of the tuner.
        tuner: its name.
        clock: the time.
        log: what happens.
        looked: is told the cause of every look.
    """

    def __init__(
        self,
        journal: Journal,
        tuner: str,
        *,
        clock: Callable[[], datetime],
        log: Log,
        looked: Callable[[str], None] = lambda cause: None,
    ) -> None:
        self._journal, self._tuner, self._clock, self._log = journal, tuner, clock, log
        self._looked = looked
        self._standing, self._alarm = Standing(), 0
        self._read: int | Event = 0  # up to which event
        self._first = True

    def decided(self, decision: Decision) -> None:
        """Nothing: the journal has it."""

    def told(self, metrics: Mapping[str, Any], at: datetime) -> None:
        """Nothing: the journal has it."""

    def failed(self, where: str, code: str) -> None:
        """Nothing: the loop says when it is stuck."""

    def stepped(self, loop: Loop) -> None:
        """Write what is new since the last notice."""
        self._follow()
        status = loop.tuner.status()
        now = standing_of(status, alarm=self._alarm, stuck=loop.stuck is not None)
        for notice in news(self._standing, now, why=loop.stuck or ""):
            payload = {
                "event": notice.event,
                "text": notice.text,
                "why": f"{notice.event}: {notice.text}",
                "standing": asdict(notice.standing),
                "values": dict(status.values),
                "actor": ACTOR,
            }
            draft = Draft(kind=KIND, payload=payload, at=stamp(self._clock, self._journal))
            self._journal.append(self._tuner, draft)
            self._standing = notice.standing
            self._log.warn("notice", about=notice.event, text=notice.text)
        self._standing = now

    def _follow(self) -> None:
        """Read what is new: alarms, and notices of processes before this one."""
        for event in self._journal.events(self._tuner, after=self._read):
            self._read = event
            if event.kind == "decide" and '"look"' in event.text:
                look = event.payload.get("look") or {}
                cause = str(look.get("cause"))
                if not self._first:
                    self._looked(cause)
                if cause == "alarm":
                    self._alarm = event.number
            elif event.kind == KIND and self._first:
                self._standing = Standing.of(event.payload["standing"])
        self._first = False
