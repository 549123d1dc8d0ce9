"""A tuner's events, followed: the tuner_state and what was learned, up to the last event read."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from trimtab.errors import InvalidInput
from trimtab.live.spec.spec import Spec
from trimtab.live.state import packing
from trimtab.live.state.learning.figures import LEAVE, Figures, Kept
from trimtab.live.state.learning.lessons import Lesson
from trimtab.live.state.reducer import Reading, apply, begun, replays
from trimtab.live.state.tuner_state import State, TunerState
from trimtab.live.store.event import Event
from trimtab.live.store.faults import Damaged, SnapshotIgnored
from trimtab.live.store.session import Read
from trimtab.live.store.snapshot_table import Snapshot

if TYPE_CHECKING:  # loaded by who wants to know what was learned
    from trimtab.live.state.learning.learned import Learned

FORMAT = 7  # of snapshots; another one is not used, and events are replayed instead
UNUSABLE = (InvalidInput, ValueError, KeyError, TypeError)  # what a snapshot may lead to
# What an event that no tuner has written may lead to.
FOREIGN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
Amend = Callable[[TunerState, Event], "Projection"]  # after an event that replays
Again = Callable[[TunerState, int], "Learned"]  # what was learned up to an event, from the first on

MOST_PENDING = 10_000  # lessons that wait for the policy


class Projection:
    """What a journal says of a tuner, in this process. The same events give the same projection.

    Nothing is done before somebody wants to know. Events that this process has appended wait until
    the tuner_state is wanted, and lessons until what was learned is: who only tells never solves
    anything, and loads no numerics.
    """

    def __init__(
        self,
        tuner_state: TunerState,
        learned: Callable[[], Learned],
        spec: Spec,
        at: Event | Snapshot,
    ) -> None:
        self._tuner_state = tuner_state
        self._make = learned
        self._learned: Learned | None = None
        self._spec = spec  # of the first event
        self._at = at
        self._waiting: deque[Event] = deque()  # up to `at`, not in the tuner_state yet
        self._pending: deque[tuple[int, Lesson]] = deque()  # with their events
        self._whole = True  # whether no change was left half done, by Ctrl-C for example
        self._looked: tuple[Event, Spec] | None = None  # the last one handed over, and the rules
        self._kept = Kept()
        self._review: list[int | None] = []  # as the last decision says it, if there is one
        self.handed_over: Callable[[Event], bytes | None] = lambda event: None

    @classmethod
    def begun(cls, event: Event, reading: Reading | None = None) -> Self:
        """After the first event."""
        try:
            tuner_state = begun(event, reading or Reading())
        except FOREIGN as error:
            raise foreign(event, error) from error
        spec = tuner_state.spec
        return cls(tuner_state, partial(_new, spec, tuner_state.seed), spec, event)

    @property
    def tuner_state(self) -> TunerState:
        """The tuner_state after the last event."""
        if self._waiting:
            self._whole = False  # until nothing can interrupt it any more
            while self._waiting:
                self._apply(self._waiting.popleft(), Reading())
            self._whole = True
        return self._tuner_state

    @property
    def learned(self) -> Learned:
        """What was learned, all lessons included."""
        name = self.tuner_state.spec.name
        if self._pending:
            self._take_over()
        learned = self._learned
        if learned is None:
            learned = self._learned = self._make()
        if self._pending:
            self._whole = False
            while self._pending:
                number, lesson = self._pending.popleft()
                try:
                    learned.apply(lesson)
                except (ArithmeticError, ValueError) as error:
                    raise _unlearnable(name, number, error) from error
            self._whole = True
        return learned

    def _take_over(self) -> None:
        """Take what was learned before the last look of others, if they have handed it over.

        So of many processes one looks, and the others need not. Lessons before it are done with.
        """
        looked, self._looked = self._looked, None
        if looked is None or self._pending[0][0] >= looked[0].number:
            return
        event, rules = looked
        content = self.handed_over(event)
        if content is None:
            return
        try:
            plain = packing.plain_of(content)
            if plain["format"] != FORMAT:
                return
            learned = _unpacked(self._spec, rules, plain["learned"], content)
        except UNUSABLE:
            return
        self._whole = False
        while self._pending and self._pending[0][0] < event.number:
            self._pending.popleft()
        self._learned = learned
        self._whole = True

    def handover(self, state: State | None = None) -> bytes:
        """What was learned up to the last event, for others to take over; they move to `state`."""
        learned = self.learned
        plain = {"format": FORMAT, "learned": learned.plain(), "figures": self._aged(state)}
        return packing.packed(plain, learned.arrays())

    # Figures.

    @property
    def figures(self) -> Figures:
        """What was learned, in figures: with all lessons if the numerics are loaded.

        Otherwise they are those of the last look, as it has written them down, if they still hold.
        """
        tuner_state = self.tuner_state
        if self._learned is None:
            known = self._kept.figures(tuner_state.state, tuner_state.origin, self._written)
            if known is not None:
                return replace(known, review=[known.review, *self._review][-1])
        from trimtab.live.state.learning.comparing import figures_of

        return figures_of(tuner_state, self.learned, tuner_state.state)

    def _written(self, event: Event) -> dict[str, Any] | None:
        """The figures that were handed over with a decision."""
        content = self.handed_over(event)
        try:
            plain = {} if content is None else packing.plain_of(content)
            return plain["figures"] if plain.get("format") == FORMAT else None
        except UNUSABLE:
            return None

    def _aged(self, state: State | None) -> dict[str, Any] | None:
        """The figures as of the last look, for who loads no numerics; None if that is unknown."""
        from trimtab.live.state.learning.comparing import figures_of

        tuner_state, learned = self.tuner_state, self.learned
        as_of = self._kept.looked if learned.look is None else tuner_state.round
        if as_of is None:
            return None
        return figures_of(tuner_state, learned, state or tuner_state.state, as_of=as_of).plain()

    # Reading.

    @property
    def whole(self) -> bool:
        """Whether everything was taken in up to `place`, and nothing was left half done."""
        return self._whole

    @property
    def place(self) -> Event | Snapshot:
        """The last event read, or the snapshot that stands for it."""
        return self._at

    def follow(self, read: Read, amend: Amend) -> None:
        """Take in every event that is new; `amend` gives what one that replays amounts to."""
        self.extend(read(after=self._at), amend)

    def extend(self, events: Iterable[Event], amend: Amend) -> None:
        """Take in the next events."""
        for event in events:
            if self.replays(event):
                fresh = amend(self.tuner_state, event)
                vars(self).update(vars(fresh) | {"handed_over": self.handed_over})
            else:
                self.take(event)

    def replays(self, event: Event) -> bool:
        """Whether the next event has all of them read again."""
        try:
            return replays(self.tuner_state, event)
        except FOREIGN as error:
            raise foreign(event, error) from error

    def take(self, event: Event, reading: Reading | None = None) -> None:
        """Take in the next event.

        Raises:
            Damaged: it is intact, but nothing that a tuner of this version has written.
        """
        _ = self.tuner_state  # what comes before it
        self._whole = False
        self._apply(event, reading or Reading())
        self._at = event
        self._whole = True
        if len(self._pending) >= MOST_PENDING:
            _ = self.learned

    def note(self, events: Sequence[Event]) -> None:
        """Take in the next events, which this process has appended, when somebody wants to know."""
        self._whole = False
        self._waiting.extend(events)
        self._at = events[-1]
        self._whole = True

    def _apply(self, event: Event, reading: Reading) -> None:
        try:
            lessons = apply(self._tuner_state, event, reading)
            self._pending.extend((event.number, lesson) for lesson in lessons)
            told = event.kind in ("tell", "decide") and LEAVE.issuperset(map(type, lessons))
            if event.kind == "decide":
                self._review = [event.payload["review"]]
                if "look" in event.payload or "state" in event.payload:
                    self._looked, told = (event, self._tuner_state.spec), False
            if not told:
                self._kept.note(event, lessons)
        except FOREIGN as error:
            raise foreign(event, error) from error

    # Snapshots.

    @property
    def number(self) -> int:
        """The last event read."""
        return self.tuner_state.number

    def content(self) -> bytes:
        """The projection packed; nothing in it is ever executed."""
        rest = {
            "format": FORMAT,
            "spec": self._spec.to_dict(),
            "learned": self.learned.plain(),
            "tuner_state": self.tuner_state.plain(),
            "figures": self._aged(None),
        }
        return packing.packed(rest, self.learned.arrays())

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, again: Again | None = None) -> Self | None:
        """The projection that a snapshot saw, or None with a warning if it cannot be used.

        Args:
            snapshot: with a checksum that was right.
            again: if given, what was learned is unpacked when somebody wants to know it; if that
                cannot be used then, this gives it.
        """
        try:
            rest = packing.plain_of(snapshot.content)
            if rest["format"] != FORMAT:
                raise InvalidInput(f"it has format {rest['format']}, not {FORMAT}")
            spec = Spec.from_dict(rest["spec"])
            tuner_state = TunerState.from_plain(rest["tuner_state"])
            unpack = partial(_unpacked, spec, tuner_state.spec, rest["learned"], snapshot.content)
            found = cls(tuner_state, unpack, spec, snapshot)
            found._kept.begin(snapshot.number, rest.get("figures"))
            if again is None:
                _ = found.learned
            else:
                found._make = partial(_unpacked_or, unpack, partial(again, tuner_state), snapshot)
            return found
        except UNUSABLE as error:
            _ignore(snapshot, error)
            return None


def _new(spec: Spec, seed: int) -> Learned:
    """What is learned before the first lesson."""
    from trimtab.live.state.learning.learned import Learned

    return Learned.new(spec, seed)


def _unpacked(spec: Spec, rules: Spec, plain: dict[str, Any], content: bytes) -> Learned:
    """What was learned when the snapshot was taken."""
    from trimtab.live.state.learning.learned import Learned

    return Learned.from_plain(spec, rules, plain, packing.arrays_of(content))


def _unpacked_or(
    unpack: Callable[[], Learned], again: Callable[[int], Learned], snapshot: Snapshot
) -> Learned:
    """The same, from the first event on if the snapshot cannot be used."""
    try:
        return unpack()
    except UNUSABLE as error:
        _ignore(snapshot, error)
        return again(snapshot.number)


def _ignore(snapshot: Snapshot, error: Exception) -> None:
    warnings.warn(
        f"the snapshot at event {snapshot.number} cannot be used ({error}); all events are "
        "replayed instead",
        SnapshotIgnored,
        stacklevel=3,
    )


def _unlearnable(tuner: str, number: int, error: Exception) -> Damaged:
    return Damaged(
        f"tuner {tuner!r}: what event {number} says cannot be learned ({type(error).__name__}: "
        f"{error}); restore a copy, or use the version that wrote it"
    )


def foreign(event: Event, error: Exception) -> Damaged:
    """The error of an event that is intact, but nothing that a tuner has written."""
    return Damaged(
        f"tuner {event.tuner!r}: event {event.number} ({event.kind}) is not one that this version "
        f"of trimtab writes ({type(error).__name__}: {error}); use the version that wrote it"
    )
