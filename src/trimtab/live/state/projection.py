"""A tuner's events, followed: the tuner_state and what was learned, up to the last event read."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np

from trimtab.errors import InvalidInput
from trimtab.live.spec.spec import Spec
from trimtab.live.state.learning.learned import Learned
from trimtab.live.state.learning.lessons import Lesson
from trimtab.live.state.reducer import Reading, apply, begun, replays
from trimtab.live.state.tuner_state import TunerState
from trimtab.live.store.event import Event
from trimtab.live.store.faults import Damaged, SnapshotIgnored
from trimtab.live.store.session import Read
from trimtab.live.store.snapshot_table import Snapshot

FORMAT = 5  # of snapshots; another one is not used, and events are replayed instead
# What an event that no tuner has written may lead to.
FOREIGN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
Amend = Callable[[TunerState, Event], "Projection"]  # after an event that replays

MOST_PENDING = 10_000  # lessons that wait for the policy


class Projection:
    """What a journal says of a tuner, in this process. The same events give the same projection.

    The tuner_state is always up to the last event read. Lessons wait until somebody wants to know
    what was learned: who only tells never solves anything.
    """

    def __init__(
        self, tuner_state: TunerState, learned: Learned, spec: Spec, at: Event | Snapshot
    ) -> None:
        self.tuner_state = tuner_state
        self._learned = learned
        self._spec = spec  # of the first event
        self._at = at
        self._pending: deque[tuple[int, Lesson]] = deque()  # with their events
        self._whole = True  # whether no change was left half done, by Ctrl-C for example

    @classmethod
    def begun(cls, event: Event, reading: Reading | None = None) -> Self:
        """After the first event."""
        try:
            tuner_state = begun(event, reading or Reading())
        except FOREIGN as error:
            raise foreign(event, error) from error
        return cls(
            tuner_state, Learned.new(tuner_state.spec, tuner_state.seed), tuner_state.spec, event
        )

    @property
    def learned(self) -> Learned:
        """What was learned, all lessons included."""
        if self._pending:
            self._whole = False  # until nothing can interrupt it any more
            while self._pending:
                number, lesson = self._pending.popleft()
                try:
                    self._learned.apply(lesson)
                except (ArithmeticError, ValueError) as error:
                    raise _unlearnable(self.tuner_state.spec.name, number, error) from error
            self._whole = True
        return self._learned

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
                vars(self).update(vars(fresh))
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
        self._whole = False
        try:
            lessons = apply(self.tuner_state, event, reading or Reading())
            self._pending.extend((event.number, lesson) for lesson in lessons)
        except FOREIGN as error:
            raise foreign(event, error) from error
        self._at = event
        self._whole = True
        if len(self._pending) >= MOST_PENDING:
            _ = self.learned

    # Snapshots.

    @property
    def number(self) -> int:
        """The last event read."""
        return self.tuner_state.number

    def content(self) -> bytes:
        """The projection as plain arrays; nothing in it is ever executed."""
        rest = {
            "format": FORMAT,
            "spec": self._spec.to_dict(),
            "learned": self.learned.plain(),
            "tuner_state": self.tuner_state.plain(),
        }
        arrays: dict[str, Any] = {
            name: np.asarray(value) for name, value in self.learned.arrays().items()
        }
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, rest=np.asarray(json.dumps(rest)), **arrays)
        return buffer.getvalue()

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> Self | None:
        """The projection that a snapshot saw, or None with a warning if it cannot be used."""
        try:
            with np.load(io.BytesIO(snapshot.content), allow_pickle=False) as archive:
                saved = {name: archive[name] for name in archive.files}
            rest = json.loads(str(saved.pop("rest")))
            if rest["format"] != FORMAT:
                raise InvalidInput(f"it has format {rest['format']}, not {FORMAT}")
            arrays = {name: x.item() if x.ndim == 0 else x for name, x in saved.items()}
            spec, tuner_state = (
                Spec.from_dict(rest["spec"]),
                TunerState.from_plain(rest["tuner_state"]),
            )
            learned = Learned.from_plain(spec, tuner_state.spec, rest["learned"], arrays)
            return cls(tuner_state, learned, spec, snapshot)
        except (
            InvalidInput,
            ValueError,
            KeyError,
            TypeError,
            OSError,
            zipfile.BadZipFile,
        ) as error:
            warnings.warn(
                f"the snapshot at event {snapshot.number} cannot be used ({error}); all events are "
                "replayed instead",
                SnapshotIgnored,
                stacklevel=2,
            )
            return None


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
