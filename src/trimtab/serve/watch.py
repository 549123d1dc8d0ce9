"""News of tuners: who listens is woken when a tuner has a new event, whoever wrote it.

One statement per poll and replica, for all tuners that somebody listens to: the store is not
asked to notify, and what this replica writes itself is known at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from starlette.concurrency import run_in_threadpool

from trimtab.live.store.faults import Unavailable
from trimtab.serve.problems import Refused
from trimtab.serve.tables import Tables

SHARE = 4  # of all listeners, one token may have a quarter
MOST_AT_ONCE = 500  # names in one statement


class Listener:
    """Somebody who waits for events of some tuners; use it as a context."""

    def __init__(self, watch: Watch, names: Iterable[str], who: str) -> None:
        self.names, self.who = frozenset(names), who
        self._watch = watch
        self._event = asyncio.Event()
        self._news: dict[str, int] = {}

    def wake(self, name: str, number: int) -> None:
        """Note that the tuner's last event has this number, and wake who waits."""
        self._news[name] = number
        self._event.set()

    async def news(self, seconds: float) -> dict[str, int]:
        """The last events of tuners that have new ones; empty if there is none in these seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)
        self._event.clear()
        news, self._news = self._news, {}
        return news

    def __enter__(self) -> Listener:
        self._watch.listeners.add(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._watch.listeners.discard(self)


class Watch:
    """Looks for new events while the service runs."""

    def __init__(self, tables: Tables, *, seconds: float, most: int) -> None:
        self._tables, self._seconds, self._most = tables, seconds, most
        self.listeners: set[Listener] = set()
        self._last: dict[str, int] = {}
        self._touched = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closing = False

    def listen(self, names: Iterable[str], who: str) -> Listener:
        """A listener for these tuners, by a token.

        Raises:
            Refused: there are too many listeners, or too many by this token.
        """
        wait = {"retry-after": "10"}
        if len(self.listeners) >= self._most:
            raise Refused(
                503, f"{self._most:,} connections listen already; ask another replica", wait
            )
        most = max(self._most // SHARE, 1)
        if sum(each.who == who for each in self.listeners) >= most:
            raise Refused(429, f"{most:,} connections of this token listen already", wait)
        return Listener(self, names, who)

    def touch(self) -> None:
        """Look now: this process has written something. Any thread may call it."""
        if self.listeners and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._touched.set)

    def close(self) -> None:
        """Let every listener go, so that the service can end. Any thread may call it."""
        self.closing = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for listener in list(self.listeners):
            listener.wake("", 0)

    async def run(self) -> None:
        """Poll until it is cancelled."""
        self._loop = asyncio.get_running_loop()
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._touched.wait(), self._seconds)
            self._touched.clear()
            names = sorted(set().union(*(listener.names for listener in self.listeners)))
            self._last = {name: n for name, n in self._last.items() if name in set(names)}
            for first in range(0, len(names), MOST_AT_ONCE):
                with suppress(Unavailable):  # then the next poll may reach it
                    part = names[first : first + MOST_AT_ONCE]
                    self._compare(await run_in_threadpool(self._tables.last_events, part))

    def _compare(self, found: dict[str, int]) -> None:
        for name, number in found.items():
            if self._last.get(name) == number:
                continue
            self._last[name] = number
            for listener in list(self.listeners):
                if name in listener.names:
                    listener.wake(name, number)
