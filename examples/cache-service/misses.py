"""Misses on their way to the database: asked once each, several to a query, few queries at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

from database import Item

LINGER = 0.002  # seconds that a miss waits for others to share its query

Read = Callable[[list[int]], Awaitable[Mapping[int, Item]]]
Keep = Callable[[Mapping[int, Item]], Awaitable[None]]


class Misses:
    """Loads items by queries of up to `batch` ids, of which at most `pool` run at once.

    A query leaves when it is full, or when its first miss has waited for `LINGER`, and a
    connection is free. So misses gather while all connections are busy.
    """

    def __init__(self, read: Read, keep: Keep) -> None:
        self.batch = 1
        self.pool = 1
        self.busy_time = 0.0  # seconds of all connections together, ever
        self._read = read
        self._keep = keep
        self._waiting: dict[int, float] = {}  # the time each must leave at, oldest first
        self._results: dict[int, asyncio.Future[Item]] = {}  # of all that are not yet kept
        self._running: set[asyncio.Task[None]] = set()
        self._busy = 0
        self._timer: asyncio.TimerHandle | None = None

    def load(self, key: int) -> asyncio.Future[Item]:
        """The item, once it is there; those who ask in the meantime share it."""
        if key not in self._results:
            loop = asyncio.get_running_loop()
            self._results[key] = loop.create_future()
            self._waiting[key] = loop.time() + LINGER
            self._send()
        return self._results[key]

    def _send(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting and self._busy < self.pool:
            leave_at = next(iter(self._waiting.values()))
            if len(self._waiting) < self.batch and loop.time() < leave_at:
                if self._timer is None:
                    self._timer = loop.call_at(leave_at, self._ring)
                return
            keys = list(self._waiting)[: self.batch]
            for key in keys:
                del self._waiting[key]
            self._busy += 1
            task = loop.create_task(self._query(keys))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    def _ring(self) -> None:
        self._timer = None
        self._send()

    async def _query(self, keys: list[int]) -> None:
        began = time.perf_counter()
        try:
            items = await self._read(keys)
        except Exception as error:
            for key in keys:
                _settle(self._results.pop(key), error)
            return
        finally:
            self.busy_time += time.perf_counter() - began
            self._busy -= 1
            self._send()
        for key in keys:
            _settle(self._results[key], items[key])
        try:
            await self._keep(items)
        finally:
            for key in keys:
                del self._results[key]

    async def drain(self) -> None:
        """Wait until nothing is on its way."""
        while self._results:
            await asyncio.sleep(0.0005)

    async def abandon(self) -> None:
        """Give up all that is on its way."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._waiting.clear()
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for future in self._results.values():
            future.cancel()
        self._results.clear()
        self._busy = 0


def _settle(future: asyncio.Future[Item], result: Item | Exception) -> None:
    if future.cancelled():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
        future.exception()  # a refresh has nobody who looks
    else:
        future.set_result(result)
