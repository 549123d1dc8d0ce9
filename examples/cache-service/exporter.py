"""The cache service under constant load, with metrics for Prometheus; its knobs are a Redis hash.

::

    export PYTHONPATH=.
    python examples/cache-service/exporter.py --redis unix:///tmp/a.sock --port 9100 --out a.csv

It plays one window of load after the other. Before each it reads its knobs from the hash
`cache-service` (the start values where there are none) and the word at `workload`: anything but
`calm` makes eight times as many items change. With `--beside` a second lane with the start values
plays every window as well, so that both can be compared. Every window is a line of the CSV file.
"""

from __future__ import annotations

import argparse
import csv
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from cache_service import CacheLane, CacheService
from load import CHANGES, KEYS, Load
from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server
from redis import Redis

HASH, WORKLOAD = "cache-service", "workload"
METRICS = ("latency_mean", "latency_p95", "stale_reads", "db_time", "memory")


class Exported:
    """The counters of the tuned lane."""

    def __init__(self, registry: CollectorRegistry, *, requests: int) -> None:
        self._requests = requests
        self.requests = Counter("cache_requests", "Requests.", registry=registry)
        self.latency = Counter("cache_latency_seconds", "Of all requests.", registry=registry)
        self.reads = Counter("cache_reads", "Items read.", registry=registry)
        self.stale = Counter("cache_stale_reads", "Items read too late.", registry=registry)
        self.database = Counter("cache_db_seconds", "Connections busy.", registry=registry)
        self.memory = Gauge("cache_memory_megabytes", "What Redis may use.", registry=registry)
        self.p95 = Gauge("cache_latency_p95_ms", "Of the last window.", registry=registry)

    def window(self, measured: dict[str, float]) -> None:
        """Count what a window has measured; nothing if it was not."""
        if any(value != value for value in measured.values()):
            return
        n = self._requests
        self.requests.inc(n)
        self.latency.inc(n * measured["latency_mean"] / 1000.0)
        self.reads.inc(n * KEYS)
        self.stale.inc(n * KEYS * measured["stale_reads"] / 100.0)
        self.database.inc(n * measured["db_time"] / 1000.0)
        self.memory.set(measured["memory"])
        self.p95.set(measured["latency_p95"])


def main(argv: Sequence[str] | None = None) -> int:
    """Play until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--redis", required=True, help="URL of the Redis with the knobs")
    parser.add_argument("--port", type=int, required=True, help="of the metrics, on 127.0.0.1")
    parser.add_argument("--out", type=Path, required=True, help="a CSV file")
    parser.add_argument("--beside", action="store_true", help="also a lane with the start values")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(argv)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *arguments: stop.set())
    sizes = {"rows": asked.rows, "requests": asked.requests, "seed": asked.seed}
    loads = {"calm": Load(**sizes), "busy": Load(**sizes, changes=8 * CHANGES)}
    with CacheService(**sizes) as system, asked.out.open("w", newline="") as file:
        knobs: Redis = Redis.from_url(asked.redis, decode_responses=True)
        lanes = {"tuned": system.lane("tuned")}
        if asked.beside:
            lanes["fixed"] = system.lane("fixed")
        start = {name: float(x) for name, x in system.spec.values(system.spec.start).items()}
        registry = CollectorRegistry()
        exported = Exported(registry, requests=asked.requests)
        server, _ = start_http_server(asked.port, "127.0.0.1", registry)
        table = csv.writer(file)
        table.writerow(["at", "lane", "workload", *start, *METRICS])
        while not stop.is_set():
            word = "calm" if knobs.get(WORKLOAD) in (None, "calm") else "busy"
            found = {name: float(x) for name, x in knobs.hgetall(HASH).items() if name in start}
            for name, lane in lanes.items():
                values = start | found if name == "tuned" else start
                measured = _played(lane, loads[word], values)
                if name == "tuned":
                    exported.window(measured)
                row = [f"{time.time():.3f}", name, word, *values.values()]
                table.writerow([*row, *(measured[metric] for metric in METRICS)])
            file.flush()
        server.shutdown()
        server.server_close()
        knobs.close()
    return 0


def _played(lane: CacheLane, load: Load, values: dict[str, float]) -> dict[str, float]:
    lane.load = load
    return lane.window(values)


if __name__ == "__main__":
    sys.exit(main())
