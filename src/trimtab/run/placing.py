"""The system has the tuner's values, or the tuner is told which ones it has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from math import isclose
from typing import Any

from trimtab.errors import InvalidInput
from trimtab.live.clock import stamp
from trimtab.live.state.decision import Decision
from trimtab.live.store.event import Draft, number_of
from trimtab.live.store.journal import Journal
from trimtab.live.tuner import Tuner
from trimtab.run.faults import TargetFault
from trimtab.run.log import Log
from trimtab.run.schedule import settling
from trimtab.run.targets.target import Order, Target

SAME = 1e-6  # of a value: systems round
ACTOR = "trimtab run"
NEAR = 50  # events after a move within which it is recorded that it was made


@dataclass(frozen=True, kw_only=True)
class Place:
    """The values that this process has set at the target, or found there."""

    decision: str
    values: Mapping[str, float]
    at: datetime  # since when
    steady: datetime  # metrics from this time on are learned from
    unsteady: datetime  # until this time the tuner itself refuses to learn


class Placing:
    """Sets values, reads them back where that is possible, and records it.

    Args:
        tuner: is told where the system is when that is elsewhere.
        journal: of the tuner.
        target: where values are set.
        attempts: to set values, after which the tuner stays where the system is.
        clock: the time.
        log: what happens.
        dry: nothing is set.
    """

    def __init__(
        self,
        tuner: Tuner,
        journal: Journal,
        target: Target,
        *,
        attempts: int,
        clock: Callable[[], datetime],
        log: Log,
        dry: bool,
    ) -> None:
        self.tuner, self._journal, self._target = tuner, journal, target
        self._attempts, self._clock, self._log, self._dry = attempts, clock, log, dry
        self.place: Place | None = None
        self._tried = ("", 0)  # the decision, and how often its values were set
        self._doubt = False  # whether values were perhaps set, and cannot be read back

    def settle(self, decision: Decision, now: datetime) -> bool:
        """See to it that the system has the decision's values; False if somebody has set others.

        Raises:
            TargetFault: it could not be done, or not be verified.
        """
        here, values = self.place, decision.values
        actual = self._target.read() if self._target.readable else None
        if actual is not None and self._foreign(actual, values, decision.previous):
            self._take_over(decision, actual)
            return False
        seen = actual is None or same(actual, values)
        if here is not None and seen and not decision.changed and same(here.values, values):
            self.place = replace(here, decision=decision.id)
            return True
        recorded = self._recorded(decision) if here is None and not self._doubt else None
        if recorded is not None and seen:
            everything = [knob.name for knob in self.tuner.spec.knobs]
            self._arrive(decision, since=recorded, moved=everything)
        elif self._dry or self.tuner.status().shadow:
            self._arrive(decision, since=now, moved=())
        else:
            self._push(decision)
            self._arrive(decision, since=self._clock(), moved=decision.changed)
        return True

    def holds(self, decision: Decision) -> bool:
        """Whether the system still has the values that were set; else the tuner knows by now.

        Raises:
            TargetFault: they cannot be read.
        """
        if not self._target.readable:
            return True
        actual = self._target.read()
        if same(actual, decision.values):
            return True
        if self._foreign(actual, decision.values, decision.values):
            self._take_over(decision, actual)
        else:  # some are not set at all any more
            self.place = None
        return False

    def failed(self, decision: Decision | None, fault: TargetFault) -> None:
        """The target did not work: after some attempts the tuner stays where the system is."""
        if not self._target.readable:
            self.place, self._doubt = None, True
        over = fault.permanent or self.tries >= self._attempts
        if decision is None or not decision.changed or not over or self._tried[0] != decision.id:
            return
        actual = dict(decision.previous)
        if self._target.readable:
            try:
                actual = self._target.read() or actual
            except TargetFault:
                return  # nothing is known; the next step tries again
            if same(actual, decision.values):
                return  # they were set after all
        self._accept(decision, actual)
        why = f"{decision.id} could not be set ({fault.code}); the tuner stays where the system is"
        self.note("failed", {"decision": decision.id, "code": fault.code, "why": why})
        self._log.error("gave-up", decision=decision.id, code=fault.code, values=actual)

    @property
    def tries(self) -> int:
        """How often the values of the last decision were set."""
        return self._tried[1]

    def note(self, kind: str, payload: dict[str, Any]) -> None:
        """Record something in the journal that changes nothing of what the tuner knows."""
        signed = payload | {"actor": ACTOR}
        self._journal.append(
            self.tuner.name, Draft(kind=kind, payload=signed, at=stamp(self._clock, self._journal))
        )

    def _push(self, decision: Decision) -> None:
        before, tries = self._tried
        self._tried = (decision.id, tries + 1 if before == decision.id else 1)
        order = Order(
            tuner=self.tuner.name,
            decision=decision.id,
            at=decision.at,
            values=decision.values,
            previous=decision.previous,
            reason=decision.reason,
        )
        self._target.push(order)
        verified = self._target.readable
        if verified:
            actual = self._target.read()
            if not same(actual, decision.values):
                text = f"{dict(decision.values)} was set, and {actual} is read back"
                raise TargetFault("mismatch", text)
        self._doubt = False
        why = f"{decision.id} is set" + (" and read back" if verified else "")
        self.note("applied", {"decision": decision.id, "verified": verified, "why": why})
        self._log.info("applied", decision=decision.id, values=decision.values, verified=verified)

    def _arrive(self, decision: Decision, *, since: datetime, moved: Collection[str]) -> None:
        settle = settling(knob for knob in self.tuner.spec.knobs if knob.name in moved)
        self.place = Place(
            decision=decision.id,
            values=decision.values,
            at=since,
            steady=since + settle,
            unsteady=decision.at + settle,
        )

    def _recorded(self, decision: Decision) -> datetime | None:
        """When it was recorded that the system has these values; None if it was not."""
        name, number = self.tuner.name, number_of(self.tuner.name, decision.id)
        made = next(self._journal.events(name, after=number - 1))
        since = made.payload.get("since", number)
        for event in islice(self._journal.events(name, after=since - 1), NEAR):
            if event.kind == "applied":
                return event.at
        return None

    def _foreign(
        self, actual: Mapping[str, float], values: Mapping[str, float], before: Mapping[str, float]
    ) -> bool:
        """Whether a value is neither what is wanted nor what it was before."""
        return any(
            not alike(x, values[name]) and not alike(x, before[name]) for name, x in actual.items()
        )

    def _take_over(self, decision: Decision, actual: Mapping[str, float]) -> None:
        self._accept(decision, actual)
        self._log.warn("set-by-hand", decision=decision.id, values=actual)

    def _accept(self, decision: Decision, values: Mapping[str, float]) -> None:
        """Tell the tuner which values the system has; the decision is over.

        Raises:
            TargetFault: the system is where no tuner may go.
        """
        try:
            self.tuner.attach(values)
        except InvalidInput as error:
            text = f"the system has values that the spec does not allow: {error}"
            raise TargetFault("range", text) from None
        self.tuner.tell(decision.id, {})
        self.place = None


def same(actual: Mapping[str, float], wanted: Mapping[str, float]) -> bool:
    """Whether the system has all the values, up to rounding."""
    return all(alike(actual.get(name), x) for name, x in wanted.items())


def alike(actual: float | None, wanted: float) -> bool:
    """Whether two values are equal up to rounding; False if the system has none."""
    return actual is not None and isclose(actual, wanted, rel_tol=SAME, abs_tol=1e-12)
