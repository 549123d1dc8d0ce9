"""A cache-aside service: items from Redis if they are young enough, else from PostgreSQL."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from database import Item, Items
from misses import Misses
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError

HEADER = struct.Struct("<dI")  # when the item was loaded, by the service's clock; its version
MEGABYTE = 2**20


@dataclass(frozen=True)
class Settings:
    """The knobs, each in its unit."""

    ttl: float  # seconds of the service's clock
    memory_limit: float  # MB
    batch: int
    pool: int
    early_refresh: float

    @classmethod
    def of(cls, values: Mapping[str, float]) -> Self:
        """The settings that a tuner's values mean."""
        return cls(
            ttl=values["ttl"],
            memory_limit=values["memory_limit"],
            batch=round(values["batch"]),
            pool=round(values["pool"]),
            early_refresh=values["early_refresh"],
        )


class Service:
    """Answers requests for several items each, and knows which versions it served.

    Its clock is whatever the load says it is (`now`). So its entries do not age while it waits,
    and Redis only keeps them and evicts them.
    """

    def __init__(self, cache: Redis, items: Items) -> None:
        self.now = 0.0
        self.items = items
        self.misses = Misses(items.read, self._keep)
        self._cache: Any = cache  # its annotations mix the synchronous and asynchronous answers
        self._settings: Settings | None = None

    async def set_knobs(self, settings: Settings) -> None:
        """Make the settings hold from now on."""
        old, self._settings = self._settings, settings
        self.misses.batch, self.misses.pool = settings.batch, settings.pool
        if old is None or old.memory_limit != settings.memory_limit:
            limit = round(settings.memory_limit * MEGABYTE)
            await self._cache.config_set("maxmemory", limit)

    async def memory(self) -> float:
        """The MB that Redis may use, as Redis says."""
        info = await self._cache.info("memory")
        return float(info["maxmemory"] / MEGABYTE)

    async def read(self, keys: Sequence[int], draws: Sequence[float]) -> list[int]:
        """The versions of the items served; `draws` in [0, 1) decide on early refreshes."""
        found: list[bytes | None] = await self._cache.mget(keys)
        served = [0] * len(keys)
        loads: list[tuple[int, asyncio.Future[Item]]] = []
        for place, (key, value, draw) in enumerate(zip(keys, found, draws, strict=True)):
            version = self._fresh(key, value, draw)
            if version is None:
                loads.append((place, self.misses.load(key)))
            else:
                served[place] = version
        for place, load in loads:
            served[place] = (await asyncio.shield(load)).version
        return served

    def _fresh(self, key: int, value: bytes | None, draw: float) -> int | None:
        """The version of an entry that may be served; an old one is perhaps loaded again.

        Refreshes begin at the age of (1 - early_refresh) ttl and are the likelier the older
        the entry is; nobody waits for them.
        """
        if value is None or self._settings is None:
            return None
        loaded, version = HEADER.unpack_from(value)
        age = (self.now - loaded) / self._settings.ttl
        if age > 1.0:
            return None
        if age > 1.0 - self._settings.early_refresh * draw:
            self.misses.load(key)
        return int(version)

    async def _keep(self, items: Mapping[int, Item]) -> None:
        entries = {
            key: HEADER.pack(self.now, item.version) + item.body for key, item in items.items()
        }
        with suppress(OutOfMemoryError):  # Redis has no room at all: they are not kept
            await self._cache.mset(entries)
