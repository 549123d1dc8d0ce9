"""The cache service as a system that can be tuned: its spec, its servers and its lanes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from math import nan
from pathlib import Path
from typing import Self

import numpy as np
from database import Connections, Items
from load import Clients, Load
from redis.asyncio import Redis
from servers import postgres_server, redis_server, require_programs, temporary_folder
from service import Service, Settings

from trimtab.live import Spec

SPEC = Path(__file__).with_name("spec.toml")
TIMEOUT = 5.0  # seconds of real time after which a window counts as not measured
WARM_UP = 6  # windows
OTHER_CHANGES = 60  # of items, each time, once the workload has changed


class CacheLane:
    """A service with a Redis, a table and a clock of its own."""

    def __init__(
        self, runner: asyncio.Runner, service: Service, load: Load, *, rows: int, metrics: list[str]
    ) -> None:
        self._runner = runner
        self._service = service
        self.load = load  # may be replaced between windows
        self._clients = Clients(service, rows=rows)
        self._metrics = metrics
        self._played = 0

    def window(self, values: Mapping[str, float]) -> dict[str, float]:
        """Set the knobs, serve the next window of load, and measure."""
        number, self._played = self._played, self._played + 1
        return self._runner.run(self._window(Settings.of(values), number))

    async def _window(self, settings: Settings, number: int) -> dict[str, float]:
        service = self._service
        window = self.load.window(number)
        before = service.misses.busy_time
        try:
            async with asyncio.timeout(TIMEOUT):
                await service.set_knobs(settings)
                measured = await self._clients.play(window)
                memory = await service.memory()
        except TimeoutError:
            await service.misses.abandon()
            return dict.fromkeys(self._metrics, nan)
        milliseconds = 1000.0 * np.array(measured.latencies)
        found = {
            "latency_mean": float(np.mean(milliseconds)),
            "latency_p95": float(np.quantile(milliseconds, 0.95)),
            "stale_reads": 100.0 * measured.stale / measured.reads,
            "db_time": 1000.0 * (service.misses.busy_time - before) / len(milliseconds),
            "memory": memory,
        }
        return {name: found[name] for name in self._metrics}


class CacheService:
    """A cache-aside service over a real Redis and a real PostgreSQL, on this machine only."""

    name = "cache-service"

    def __init__(self, *, rows: int = 3000, requests: int = 300, seed: int = 0) -> None:
        self.spec = Spec.read(SPEC)
        self._rows = rows
        self._load = Load(rows=rows, requests=requests, seed=seed)
        self._other = Load(rows=rows, requests=requests, seed=seed + 1, changes=OTHER_CHANGES)
        self._stack = ExitStack()
        self._lanes: list[CacheLane] = []

    def __enter__(self) -> Self:
        """Start PostgreSQL.

        Raises:
            NotFound: Redis or PostgreSQL is not installed.
        """
        require_programs()
        with ExitStack() as stack:
            self._folder = stack.enter_context(temporary_folder())
            url = stack.enter_context(postgres_server())
            self._runner = stack.enter_context(asyncio.Runner())
            self._connections = Connections(url)
            stack.callback(lambda: self._runner.run(self._connections.close()))
            self._runner.run(self._connections.create_sales(self._rows))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop all servers and delete their data."""
        self._stack.close()

    def lane(self, name: str) -> CacheLane:
        """A new lane, at the start values, warmed up; the name is for people."""
        number = len(self._lanes) + 1
        socket = self._stack.enter_context(redis_server(self._folder, f"redis{number}"))
        cache = Redis(unix_socket_path=str(socket))
        self._stack.callback(lambda: self._runner.run(cache.aclose()))
        items = Items(self._connections, f"items{number}")
        self._runner.run(items.create(self._rows))
        metrics = [*(each.name for each in self.spec.objectives), *self.spec.metrics]
        lane = CacheLane(
            self._runner, Service(cache, items), self._load, rows=self._rows, metrics=metrics
        )
        start = self.spec.values(self.spec.start)
        for _ in range(WARM_UP):
            lane.window(start)
        self._lanes.append(lane)
        return lane

    def change(self) -> None:
        """Other items are popular from the next window on, and items change far more often."""
        for lane in self._lanes:
            lane.load = self._other
