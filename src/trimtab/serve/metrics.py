"""What Prometheus may read of a replica, at /metrics."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from trimtab.serve.tables import Tables
    from trimtab.serve.tuners import OpenTuners
    from trimtab.serve.watch import Watch

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counts requests, and shows what is open. Labels are routes, never names from outside."""

    def __init__(self, tuners: OpenTuners, watch: Watch, tables: Tables) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter(
            "trimtab_requests", "Requests that were answered.", labels, registry=self.registry
        )
        self.seconds = Histogram(
            "trimtab_request_seconds",
            "Seconds until the answer began.",
            ("method", "route"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.rounds = Counter(
            "trimtab_fleet_rounds", "Rounds run by workers.", ("outcome",), registry=self.registry
        )
        for name, words, value in (
            ("trimtab_tuners", "Tuners in the store.", tables.count),
            ("trimtab_open_tuners", "Tuners in memory.", lambda: len(tuners)),
            ("trimtab_opened_tuners", "Tuners read from the store.", lambda: tuners.opened),
            ("trimtab_listeners", "Open event streams.", lambda: len(watch.listeners)),
        ):
            Gauge(name, words, registry=self.registry).set_function(value)

    def text(self) -> bytes:
        """The page that Prometheus reads."""
        return generate_latest(self.registry)


class Measured:
    """Passes everything on, and counts it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and note how long that took."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, route = time.perf_counter(), "(none)"
        metrics: Metrics = scope["app"].state.service.metrics

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                path = getattr(scope.get("route"), "path", route)
                method = scope["method"] if path != route else "(any)"
                metrics.requests.labels(method, path, str(message["status"])).inc()
                metrics.seconds.labels(method, path).observe(time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, noted)
