"""Open tuners: as many in memory as the limit allows, over a few shared connections."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any
from zlib import crc32

from trimtab.errors import InvalidInput, TrimtabError
from trimtab.live.clock import utc
from trimtab.live.spec.spec import Spec
from trimtab.live.store.database import Beside, Step
from trimtab.live.store.journal import Journal
from trimtab.live.store.opening import open_journal
from trimtab.live.tuner import Tuner


class OpenTuners:
    """The tuners of a store, by name.

    A tuner that is dropped loses nothing: the journal has everything, and the next use opens it
    again. So two of one name, in one process or in two, are as right as one.
    """

    def __init__(
        self,
        url: str,
        *,
        connections: int,
        limit: int,
        clock: Callable[[], datetime] = utc,
        step: Step = lambda name: None,
    ) -> None:
        self._step = step
        self._journals: list[Journal] = []
        self._limit, self._clock = limit, clock
        self._lock = threading.Lock()
        self._tuners: OrderedDict[str, Tuner] = OrderedDict()
        self._opening: dict[str, threading.Lock] = {}
        self.opened = 0  # how often one was read from the store
        try:
            for _ in range(connections):
                self._journals.append(open_journal(url, step=step))
        except BaseException:
            self.close()
            raise

    def journal(self, name: str) -> Journal:
        """The connection that the tuner of this name uses."""
        return self._journals[crc32(name.encode()) % len(self._journals)]

    def get(self, name: str) -> Tuner:
        """The tuner of this name.

        Raises:
            NotFound: the store has none.
        """
        if (tuner := self._known(name)) is not None:
            return tuner
        with self._lock:
            turn = self._opening.setdefault(name, threading.Lock())
        try:
            with turn:  # one reads, others wait for it
                if (tuner := self._known(name)) is not None:
                    return tuner
                tuner = Tuner.existing(name, self.journal(name), clock=self._clock, step=self._step)
                self._keep(tuner)
                return tuner
        finally:
            with self._lock:
                self._opening.pop(name, None)

    def begin(
        self,
        spec: Spec,
        *,
        shadow: bool | None,
        actor: str,
        row: Callable[[Any], Beside] | None = None,
    ) -> Tuner:
        """The tuner of this spec, begun if it is new; an old one takes over what may change.

        Raises:
            InvalidInput: its policy does not go with its problem.
            Conflict: there is a tuner of this name that learns another problem.
        """
        spec = replace(spec, storage=Spec.storage)  # the service has one store; theirs is not used
        journal = self.journal(spec.name)
        tuner = Tuner(
            spec,
            storage=journal,
            shadow=shadow,
            actor=actor,
            clock=self._clock,
            step=self._step,
            row=row,
        )
        self._keep(tuner)
        return tuner

    def _known(self, name: str) -> Tuner | None:
        with self._lock:
            if name in self._tuners:
                self._tuners.move_to_end(name)
            return self._tuners.get(name)

    def _keep(self, tuner: Tuner) -> None:
        with self._lock:
            self.opened += 1
            self._tuners[tuner.name] = tuner
            self._tuners.move_to_end(tuner.name)
            while len(self._tuners) > self._limit:
                self._tuners.popitem(last=False)

    def __len__(self) -> int:
        return len(self._tuners)

    def close(self) -> None:
        """End the connections."""
        for journal in self._journals:
            with suppress(TrimtabError):  # the store may be gone; the others are to be closed
                journal.close()


def spec_in(text: str) -> Spec:
    """The spec in a TOML text that came over the network.

    Raises:
        InvalidInput: no valid spec, with all faults.
    """
    if "\x00" in text:
        raise InvalidInput("spec: it has a null character; send TOML")
    return Spec.parse(text)
