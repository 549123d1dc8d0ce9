"""The log shipper as a system that can be tuned."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from functools import lru_cache
from math import nan
from pathlib import Path
from typing import Self

from pipeline import KEPT, MEM_LEVEL, Pipeline, Settings, Tally
from records import records

from trimtab.errors import InvalidInput
from trimtab.live import Spec

SPEC = Path(__file__).with_name("spec.toml")
RECORDS = 8000  # of a window: 4 s by the logical clock, and 0.02 to 0.15 s of work
WARM_UP = 2  # windows before a lane is handed out


class LogShipper:
    """As many pipelines as there are lanes; the same records in the same window of each.

    Args:
        seed: of the records.
        size: records of a window.
    """

    name = "log-shipper"

    def __init__(self, *, seed: int = 0, size: int = RECORDS) -> None:
        self.spec = Spec.read(SPEC)
        self._pipelines: list[Pipeline] = []
        # Lanes take turns window by window, so that two windows are enough to keep.
        self.records = lru_cache(2)(lambda window: records(size, seed=seed, window=window))

    def lane(self, name: str) -> ShipperLane:
        """A pipeline of its own, warmed up at the start values."""
        pipeline = Pipeline()
        self._pipelines.append(pipeline)
        lane = ShipperLane(self, pipeline)
        for _ in range(WARM_UP):
            lane.window(self.spec.values(self.spec.start))
        return lane

    def change(self) -> None:
        """Refused: it has one workload."""
        raise InvalidInput("the log shipper has one workload only; leave out --change")

    def __enter__(self) -> Self:
        """Nothing to start: pipelines begin with their lanes."""
        return self

    def __exit__(self, *error: object) -> None:
        """Stop all receivers."""
        for pipeline in self._pipelines:
            pipeline.close()
        self._pipelines.clear()


class ShipperLane:
    """A pipeline, and how far it is in the stream of records."""

    def __init__(self, system: LogShipper, pipeline: Pipeline) -> None:
        self._system, self._pipeline, self._number = system, pipeline, 0

    def window(self, values: Mapping[str, float]) -> dict[str, float]:
        """Ship the records of the next window, and measure."""
        settings = settings_of(values)
        arriving = self._system.records(self._number)
        self._number += 1
        gc.disable()  # what other arms of this process have left behind is not the pipeline's work
        try:
            tally = self._pipeline.ship(arriving, settings)
        finally:
            gc.enable()
        return measured(tally, settings)


def settings_of(values: Mapping[str, float]) -> Settings:
    """The pipeline's settings by the knobs of the spec."""
    return Settings(
        batch_records=round(values["batch_records"]),
        linger_ms=values["linger_ms"],
        level=int(values["level"]),
        window_bits=int(values["window_bits"]),
        dictionary_bytes=min(round(1024 * values["dictionary_kb"]), KEPT),
    )


def measured(tally: Tally, settings: Settings) -> dict[str, float]:
    """The metrics of a window; NaN if no batch was sent in it."""
    if not tally.records:
        names = ("cpu_us", "wire_bytes", "delay_ms", "memory_kb", "delay_p95_ms")
        return dict.fromkeys(names, nan)
    delays = tally.delays()
    # What zlib's manual says deflate and inflate take for these settings, both ends' copy of the
    # dictionary, and the batch itself, plain and waiting.
    zlib_bytes = (
        (1 << settings.window_bits + 2) + (1 << MEM_LEVEL + 9) + (1 << settings.window_bits)
    )
    held = zlib_bytes + 2 * settings.dictionary_bytes + tally.largest
    return {
        "cpu_us": 1e6 * tally.cpu / tally.records,
        "wire_bytes": tally.wire_bytes / tally.records,
        "delay_ms": 1e3 * sum(delays) / len(delays),
        "memory_kb": held / 1024,
        "delay_p95_ms": 1e3 * delays[int(0.95 * len(delays))],
    }
