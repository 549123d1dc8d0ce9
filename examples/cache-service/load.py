"""The load: windows of requests and changes that are the same for every lane."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from service import Service

CLIENTS = 16  # each sends its next request when the last one is answered
KEYS = 4  # of a request
SECONDS = 60.0  # of the service's clock that a window takes
EVERY = 20  # requests, some items change
CHANGES = 8  # of items, each time


@dataclass(frozen=True)
class Window:
    """What happens in one window, in order."""

    keys: list[list[int]]  # of every request
    draws: list[list[float]]  # in [0, 1), for early refreshes
    changes: dict[int, list[int]]  # items that change before the request of this number


class Load:
    """Windows by number: few items are asked for often, most seldom (Zipf-Mandelbrot)."""

    def __init__(self, *, rows: int, requests: int, seed: int, changes: int = CHANGES) -> None:
        self.requests = requests
        self._changes = changes
        self._seed = seed
        ranks = np.random.default_rng((seed, 0)).permutation(rows) + 1.0
        popularity = 1.0 / (ranks + 10.0) ** 1.2
        self._asked = popularity / popularity.sum()

    def window(self, number: int) -> Window:
        """The window of this number, from 0; it depends on the seed and the number only."""
        rng = np.random.default_rng((self._seed, 1, number))
        rows, shape = len(self._asked), (self.requests, KEYS)
        return Window(
            keys=rng.choice(rows, shape, p=self._asked).tolist(),
            draws=rng.random(shape).tolist(),
            changes={
                request: sorted({*rng.integers(rows, size=self._changes).tolist()})
                for request in range(0, self.requests, EVERY)
            },
        )


@dataclass
class Measured:
    """What the clients saw."""

    latencies: list[float] = field(default_factory=list)  # seconds
    reads: int = 0
    stale: int = 0  # reads of a version that had been replaced before the request was sent


class Clients:
    """The clients of one lane; they know the true version of every item."""

    def __init__(self, service: Service, *, rows: int) -> None:
        self._service = service
        self._truth = [0] * rows

    async def play(self, window: Window) -> Measured:
        """Send all of a window, and wait for all of it."""
        measured = Measured()
        numbers = iter(range(len(window.keys)))
        begin = self._service.now
        async with asyncio.TaskGroup() as group:
            for _ in range(CLIENTS):
                group.create_task(self._client(window, numbers, begin, measured))
        await self._service.misses.drain()
        self._service.now = begin + SECONDS
        return measured

    async def _client(
        self, window: Window, numbers: Iterator[int], begin: float, measured: Measured
    ) -> None:
        service, truth = self._service, self._truth
        for number in numbers:
            service.now = begin + SECONDS * number / len(window.keys)
            if number in window.changes:
                for key, version in (await service.items.change(window.changes[number])).items():
                    truth[key] = version
            keys = window.keys[number]
            due = [truth[key] for key in keys]
            sent = time.perf_counter()
            versions = await service.read(keys, window.draws[number])
            measured.latencies.append(time.perf_counter() - sent)
            measured.reads += len(keys)
            measured.stale += sum(got < true for got, true in zip(versions, due, strict=True))
