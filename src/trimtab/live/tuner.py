"""`Tuner`: a live system, tuned. It is asked, told, and never forgets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from trimtab import __version__
from trimtab.display import displayed
from trimtab.errors import InvalidInput, NotFound
from trimtab.live.clock import stamp, utc
from trimtab.live.follower import Follower, Plan
from trimtab.live.history import HistoryRow, Source
from trimtab.live.planning import decide
from trimtab.live.spec.spec import Spec
from trimtab.live.state import approval, commands, history
from trimtab.live.state.commands import Entry
from trimtab.live.state.decision import Decision, decision_of
from trimtab.live.state.measurement import CONTROL
from trimtab.live.state.projection import Projection
from trimtab.live.state.reducer import recorded
from trimtab.live.state.telling import Memory, Receipt, entries_of, known_of, plain_metrics
from trimtab.live.state.tuner_state import TunerState
from trimtab.live.store.database import Beside, Step
from trimtab.live.store.event import Draft, Event, microseconds, number_of, word
from trimtab.live.store.journal import Journal
from trimtab.live.store.opening import open_journal
from trimtab.live.store.session import MakeRows, Read
from trimtab.live.warm_start import rows_of
from trimtab.plain.faults import whole

if TYPE_CHECKING:  # loaded by those who ask for them: a tell, a pause or an order needs no numerics
    from trimtab.live.explain import Explanation
    from trimtab.live.status import Status
    from trimtab.policies import Policy


@displayed
class Tuner:
    """A tuner of a live system: `ask` for values, `tell` what they led to.

    Every call reads what is new in the journal, checks, and appends one event or none, in one
    transaction. Then it is acknowledged. A call that raises has changed nothing;
    after `Unavailable` nobody knows, and the same call again is safe. Any number of processes
    may share a store, and each of their decisions is made in knowledge of all events before it.

    >>> import tempfile, trimtab as tt
    >>> from trimtab.live.spec.spec import example
    >>> folder = tempfile.TemporaryDirectory()
    >>> tuner = tt.Tuner(Spec.parse(example()), storage=f"{folder.name}/search.db")
    >>> decision = tuner.ask()
    >>> decision.id, decision.reason, decision.values["candidates"]
    ('search-2', 'hold', 400)
    >>> tuner.ask() == decision
    True
    >>> _ = tuner.tell(decision.id, {"latency_p99": 180.0, "click_rate": (4.1, 0.2)})
    >>> tuner.ask().id
    'search-4'
    >>> tuner.close(); folder.cleanup()

    Args:
        spec: a `Spec`, or the path of its file.
        storage: where the journal is, if not where the spec says; or a journal that is open, which
            several tuners may share, and which `close` then leaves open.
        seed: of the policy of a new tuner; one that is there keeps its own.
        shadow: whether to propose and record only, and leave the system alone; None leaves
            it as it was, which is off for a new one.
        clock: the time, with a time zone; by default the host's, which may not be far ahead of
            the clock of the store's server. One that is given is taken as it is.
        actor: who is behind the calls that do not name anybody; the journal keeps it.
        read_only: only look; there must be a tuner.
        timeout: seconds to wait for other writers.
        step: called at each of `STEPS` and `database.STEPS`, to test what happens there.
        row: written with what is recorded here, as `beside` says.

    Raises:
        InvalidInput: no valid spec.
        Conflict: the journal has a tuner of this name that learns another problem.
    """

    def __init__(
        self,
        spec: Spec | str | Path,
        *,
        storage: str | Journal | None = None,
        seed: int = 0,
        shadow: bool | None = None,
        clock: Callable[[], datetime] = utc,
        actor: str | None = None,
        read_only: bool = False,
        timeout: float = 30.0,
        step: Step = lambda name: None,
        row: Callable[[Any], Beside] | None = None,
    ) -> None:
        self.spec = spec if isinstance(spec, Spec) else Spec.read(spec)
        self.name = self.spec.name
        self._actor = None if actor is None else word(actor, "actor")
        seed = whole(seed, "seed", low=0)
        self._shared = isinstance(storage, Journal)
        if isinstance(storage, Journal):
            self._journal = storage
        else:
            url = self.spec.storage if storage is None else storage
            self._journal = open_journal(url, read_only=read_only, timeout=timeout, step=step)
        try:
            self._follower = Follower(self.name, self._journal, clock=clock, step=step)
            self._row = row
            first = None if read_only else partial(self._first, seed, bool(shadow))
            if not self._follower.begin(first, self._beside(lambda events: None)):
                raise NotFound(f"there is no tuner {self.name!r} in this store; ask it first")
            if not read_only:
                self._adopt(shadow)
                self._follower.amend()  # what somebody has corrected, and could not end
            self._row = None
        except BaseException:
            self.close()
            raise

    _row: Callable[[Any], Beside] | None = None

    @classmethod
    def existing(
        cls,
        name: str,
        journal: Journal,
        *,
        clock: Callable[[], datetime] = utc,
        actor: str | None = None,
        step: Step = lambda name: None,
    ) -> Self:
        """The tuner of this name in an open journal, with the spec that the journal has.

        Raises:
            NotFound: the journal has no such tuner.
        """
        tuner = cls.__new__(cls)
        tuner.name = word(name, "name")
        tuner._actor = None if actor is None else word(actor, "actor")
        tuner._journal, tuner._shared = journal, True
        tuner._follower = Follower(tuner.name, journal, clock=clock, step=step)
        if not tuner._follower.begin(None):
            raise NotFound(f"there is no tuner {name!r} in this store; ask it first")
        tuner.spec = tuner._projection.tuner_state.spec
        return tuner

    @property
    def _projection(self) -> Projection:
        return self._follower.projection

    def _first(self, seed: int, shadow: bool) -> Draft:
        """The event that begins a tuner; what does not go together is refused."""
        from trimtab.live.state.configuration import configuration

        self.spec.new_policy(seed=seed)
        plain = {"seed": seed, "shadow": shadow, "version": __version__}
        payload = {"spec": recorded(self.spec), **plain}
        payload["configuration"] = json.dumps(configuration(self.spec))
        at = stamp(self._follower.clock, self._journal)
        return Draft(kind="begin", payload=payload | self._signed(None), at=at)

    def _adopt(self, shadow: bool | None) -> None:
        """Take over what may change of the spec, and whether it acts."""

        def plan(tuner_state: TunerState, read: Read, now: int) -> list[Entry]:
            entries: list[Entry] = []
            if history.differs(tuner_state.spec, self.spec):
                entries.append(("spec", {"spec": recorded(self.spec)}))
            if shadow is not None and tuner_state.shadow != shadow:
                entries.append(("shadow", {"on": shadow}))
            return entries

        self._act(plan)

    def __repr__(self) -> str:
        state = self._projection.tuner_state
        return f"<Tuner {self.name!r}: {state.round:,} rounds, {state.changes:,} moves>"

    def beside(self, row: Callable[[Any], Beside]) -> Self:
        """This tuner, with a row of another table of the store written in the transaction of calls.

        Both are there, or neither. No row is written if a call changes nothing.

        Args:
            row: gives the row when it gets what the verb will answer: a Decision, a Receipt, a
                number, or None. It may be asked several times.

        Verbs raise `Taken` if there is a row of the same key, and change nothing.
        """
        other = copy(self)
        other._row = row
        return other

    # The two verbs.

    def ask(self, client_id: str | None = None, *, actor: str | None = None) -> Decision:
        """The values to play; the same decision again until it is told.

        Args:
            client_id: which client asks; each has a decision of its own.
            actor: who is behind the call, here and in every call that writes.
        """
        client = None if client_id is None else word(client_id, "client_id")

        def plan(tuner_state: TunerState, read: Read, now: int) -> list[Entry]:
            if tuner_state.open_trial(client) is not None:
                return []
            return [("decide", decide(tuner_state, self._projection.learned, client, now))]

        with self._follower.turn():
            events = self._act(
                plan, actor, fresh=True, answer=self._first_decision, also=self._handover
            )
            if events:
                event = events[0]
            else:
                trial = self._projection.tuner_state.open_trial(client)
                event = history.event(self._follower.read, trial.number if trial else 0)
            decision = self._decision(event)
            self._follower.save()
        return decision

    def tell(
        self,
        decision_id: str,
        metrics: Mapping[str, Any],
        *,
        count: int | Mapping[str, int] = 1,
        correct: bool = False,
        arm: Literal["control"] | None = None,
        actor: str | None = None,
    ) -> Receipt:
        """Record what a decision led to: all at once or in parts, late, in any order.

        Args:
            decision_id: the id that `ask` gave.
            metrics: by name, in their units: a number, or (mean, sem). NaN and None say that
                it is missing.
            count: of how many rounds each is the mean; one number, or one by name.
            correct: replace what was told before; None takes it back.
            arm: "control" if this was measured meanwhile in the share of the traffic that stays at
                the start state, in a spec with ``control = true``.
            actor: who tells it.

        Raises:
            InvalidInput: an unknown metric, or a value that is none.
            NotFound: there was no such decision.
            Conflict: something else was told before, and this is no correction.
        """
        number, memory = number_of(self.name, decision_id), Memory()

        def plan(tuner_state: TunerState, read: Read, now: int) -> list[Entry]:
            told = plain_metrics(tuner_state.spec, metrics, count)
            gone = [name for name in metrics if name not in told]
            if arm is not None:
                if arm != "control" or not tuner_state.spec.control:
                    said = "the spec has none; write control = true" if arm == "control" else ""
                    raise InvalidInput(f"arm = {arm!r}: " + (said or "give 'control', or leave it"))
                told = {CONTROL + name: x for name, x in told.items()}
                gone = [CONTROL + name for name in gone]
            known = known_of(tuner_state, number, read, self.name, memory)
            return entries_of(known, told, gone, correct=correct, answers=arm is None)

        def receipt(events: tuple[Event, ...]) -> Receipt:
            return Receipt(id=decision_id, events=tuple(event.number for event in events))

        events = self._act(plan, actor, answer=receipt)
        if correct:
            self.amend()
        return receipt(events)

    def amend(self) -> None:
        """Have corrections take effect that were told and not carried out, as after a crash."""
        self._follower.amend()

    # People.

    def attach(
        self, values: Mapping[str, float], *, actor: str | None = None, why: str | None = None
    ) -> None:
        """Accept that somebody has set the system by hand; knobs that are not named stay.

        Raises:
            InvalidInput: an unknown knob, or a value out of its range.
        """
        self._act(lambda tuner_state, read, now: commands.attach(tuner_state, values), actor, why)

    def override(
        self, values: Mapping[str, float], *, actor: str | None = None, why: str | None = None
    ) -> None:
        """Have the next decisions go to these values, within the guards, and stay until `resume`.

        Raises:
            InvalidInput: an unknown knob, or a value out of its range.
        """
        self._act(lambda tuner_state, read, now: commands.override(tuner_state, values), actor, why)

    def pause(self, why: str = "by hand", *, actor: str | None = None) -> None:
        """Leave the knobs alone until `resume`; only a broken guardrail still moves them back."""
        self._act(lambda tuner_state, read, now: commands.pause(tuner_state, why), actor)

    def resume(self, *, actor: str | None = None, why: str | None = None) -> None:
        """Tune again from where the system is now: nothing moves until the next look."""
        self._act(lambda tuner_state, read, now: commands.resume(tuner_state), actor, why)

    def rollback(
        self, *, best: bool = False, actor: str | None = None, why: str | None = None
    ) -> None:
        """Go back to the last good state other than this one, within the guards, and pause there.

        The same call again has no effect before `resume`.

        Args:
            best: whether to go to the good state of the least known loss instead.
            actor: who wants it.
            why: and why.

        Raises:
            Conflict: no such good state is known.
        """
        self._act(lambda tuner_state, read, now: commands.rollback(tuner_state, best), actor, why)

    def approve(
        self, decision_id: str, *, actor: str | None = None, why: str | None = None
    ) -> None:
        """Carry out what a decision has proposed, with the next decisions and within the guards.

        Raises:
            Conflict: it does not wait for approval, or not any more.
        """
        number = number_of(self.name, decision_id)
        self._act(
            lambda tuner_state, read, now: approval.approve(tuner_state, number, now), actor, why
        )

    def reject(self, decision_id: str, *, actor: str | None = None, why: str | None = None) -> None:
        """Leave what a decision has proposed undone; the next look may propose something else.

        Raises:
            Conflict: it does not wait for approval, or not any more.
        """
        number = number_of(self.name, decision_id)
        self._act(
            lambda tuner_state, read, now: approval.reject(tuner_state, number, now), actor, why
        )

    # History.

    def warm_start(self, table: Any, *, actor: str | None = None) -> int:
        """Learn from a table of the past; of how many observations.

        Args:
            table: a path (.csv or .parquet), a data frame, or a dict of columns: one per knob,
                metric, value, and optionally time and noise. The same table again has no effect.
            actor: who gives it.
        """
        with self._follower.turn():
            spec, at = self._projection.tuner_state.spec, self._follower.stamp()
            drafts, rows = rows_of(spec, table, at, self._signed(actor))
            self._journal.append(self.name, *drafts, beside=self._beside(lambda events: rows))
            self._follower.follow()
        return rows

    def explain(self, decision_id: str) -> Explanation:
        """Why a decision was made, what became of it, whether it helps now; "last" is the newest.

        Raises:
            NotFound: there was no such decision.
        """
        from trimtab.live.explain import explained
        from trimtab.live.helping import helping_of

        with self._follower.turn():
            self._follower.follow()
            number = self._number(decision_id)
            known = known_of(self._projection.tuner_state, number, self._follower.read, self.name)
            event = history.event(self._follower.read, number)
            look = event.payload.get("looked", number)
            source = history.event(self._follower.read, look) if look else None
            tuner_state, _ = self._projection.tuner_state, self._projection.learned
            helping = helping_of(tuner_state, self._projection.figures)  # all that was told
            decision = self._decision(event)
            return explained(tuner_state.spec, decision, source, known.told, helping)

    def history(
        self,
        *,
        after: int = 0,
        limit: int | None = None,
        newest: bool = False,
        kinds: Iterable[str] | None = None,
    ) -> list[HistoryRow]:
        """What has happened, an event a row: in order, or the newest first.

        Args:
            after: the number of an event; only later ones are given.
            limit: the most rows; all by default.
            newest: whether the newest rows are wanted, and come first.
            kinds: of which kinds ("decide", "tell", "pause", ...); all by default.

        Raises:
            InvalidInput: there is no such kind.
        """
        with self._follower.turn():
            self._follower.follow()
            spec, last = self._projection.tuner_state.spec, self._projection.number
            source = Source(spec, self._follower.read, last)
            return source.rows(after=after, limit=limit, newest=newest, kinds=kinds)

    @property
    def policy(self) -> Policy:
        """What was learned up to the last event: a policy of its own, for you to look at."""
        from trimtab.policies import restore

        with self._follower.turn():
            self._follower.follow()
            learned = self._projection.learned.policy
            return restore(learned.problem, learned.snapshot())

    def recorded_spec(self) -> Spec:
        """The spec that the journal has now; `spec` is the one that this object was made with."""
        with self._follower.turn():
            self._follower.follow()
            return self._projection.tuner_state.spec

    def status(self) -> Status:
        """Where the tuner stands; see `as_of` for how old its figures are."""
        from trimtab.live.status import status_of

        with self._follower.turn():
            self._follower.follow()
            now = microseconds(self._follower.now())
            return status_of(self._projection.tuner_state, self._projection.figures, now=now)

    # How every call goes.

    def _act(
        self,
        plan: Plan,
        actor: str | None = None,
        why: str | None = None,
        *,
        fresh: bool = False,
        answer: Callable[[tuple[Event, ...]], Any] = lambda events: None,
        also: MakeRows | None = None,
    ) -> tuple[Event, ...]:
        """The events that a plan amounts to, appended; none if there is nothing to do.

        `answer` is what the verb answers when these events are appended, `also` gives more rows
        that are written with them.
        """
        signed, beside = self._signed(actor, why), self._beside(answer, also)
        return self._follower.act(plan, signed, fresh=fresh, beside=beside)

    def _beside(
        self, answer: Callable[[tuple[Event, ...]], Any], also: MakeRows | None = None
    ) -> MakeRows | None:
        """What gives the rows that are written with events, by what the verb answers then."""
        row = self._row
        if row is None:
            return also
        return lambda events: [row(answer(events)), *(also(events) if also else ())]

    def _signed(self, actor: str | None, why: str | None = None) -> dict[str, str]:
        """Who is behind an event, and why, as its payload says it."""
        who = self._actor if actor is None else word(actor, "actor")
        reason = {} if why is None else {"why": commands.reason(why)}
        return reason if who is None else {"actor": who, **reason}

    def _number(self, decision_id: str) -> int:
        """The number of a decision, by its id or as the last one."""
        newest = next(reversed(self._projection.tuner_state.trials), 0)
        if decision_id == "last" and newest:
            return newest
        return number_of(self.name, decision_id)

    def _handover(self, events: tuple[Event, ...]) -> list[Beside]:
        """What was learned, for others to take over, if the decision moves, or after a look."""
        payload = events[0].payload
        if "look" not in payload and "state" not in payload:
            return []
        content = self._projection.handover(payload.get("state"))
        return [self._journal.handover(events[0], content)]

    def _first_decision(self, events: tuple[Event, ...]) -> Decision:
        """The decision that is about to be appended."""
        tuner_state = self._projection.tuner_state
        state = events[0].payload.get("state", tuner_state.state)
        return decision_of(tuner_state.spec, events[0], state)

    def _decision(self, event: Event) -> Decision:
        tuner_state = self._projection.tuner_state
        trial = tuner_state.trials.get(event.number)
        state = (
            history.state(self._follower.read, event)
            if trial is None
            else tuner_state.epochs[trial.epoch].state
        )
        return decision_of(tuner_state.spec, event, state)

    def plot(self) -> Any:
        """The knobs over the rounds, as `plot.knobs` draws them."""
        from trimtab import plot  # a room to the right, at its first use

        return plot.knobs(self)

    def close(self) -> None:
        """End the connection to the journal, unless others share it."""
        if not self._shared:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
