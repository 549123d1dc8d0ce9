"""What the tests of the service share: a real server over a store, and tokens of every role."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from tests.live.tuners import SPEC, Clock, spec_with, world
from trimtab.live import Spec
from trimtab.live.clock import utc
from trimtab.serve.app import create_app
from trimtab.serve.protocol import BoundedProtocol
from trimtab.serve.server import DrainingServer, listening
from trimtab.serve.service import Service
from trimtab.serve.settings import Settings

ROLES = ("viewer", "client", "operator", "admin")
FREE: dict[str, Any] = {  # no limits on how often
    "rate": 1e6,
    "burst": 10**6,
    "stranger_rate": 1e6,
    "stranger_burst": 10**6,
}


@dataclass
class Running:
    """A service that runs in a thread of the test."""

    app: FastAPI
    http: httpx.Client
    clock: Clock
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def service(self) -> Service:
        service: Service = self.app.state.service
        return service

    def token(self, role: str, *, tuner: str | None = None, name: str | None = None) -> str:
        """A token of this role, the same one each time."""
        key = name or (role if tuner is None else f"{role} of {tuner}")
        if key not in self.tokens:
            taken = any(token.name == key for token in self.service.tokens.all())
            given = f"{key} {self.http.base_url.port}" if taken else key  # by another replica
            self.tokens[key] = self.service.tokens.add(given, role, tuner=tuner, by="test")[0]
        return self.tokens[key]

    def send(
        self, role: str, method: str, path: str, *, tuner: str | None = None, **options: Any
    ) -> httpx.Response:
        """The answer to a request of somebody in this role."""
        headers = {"authorization": f"Bearer {self.token(role, tuner=tuner)}"}
        headers |= options.pop("headers", {})
        return self.http.request(method, path, headers=headers, **options)

    def post(self, path: str, body: Any, role: str = "admin", **options: Any) -> httpx.Response:
        """The answer to a POST."""
        return self.send(role, "POST", path, json=body, **options)

    def begin(self, spec: Spec | None = None) -> None:
        """Begin a tuner."""
        self.service.tuners.begin(spec or spec_with(), shadow=None, actor="test")


@contextmanager
def running(url: str, *, real_time: bool = False, **settings: Any) -> Iterator[Running]:
    """A service over this store, with a clock that is set by hand or the real one."""
    clock = Clock()
    time_of = utc if real_time else clock
    app = create_app(Settings(storage=url, **(FREE | settings)), clock=time_of)
    with listening("127.0.0.1", 0) as socket:
        config = uvicorn.Config(
            app,
            http=BoundedProtocol,
            log_level="warning",
            lifespan="on",
            ws="none",
            server_header=False,
        )
        server = DrainingServer(config, app.state.service)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        port = socket.getsockname()[1]
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30.0) as http:
                http.get("/api/v1/none")  # routes are built once, by nobody else
                yield Running(app, http, clock)
        finally:
            app.state.service.drain()
            server.should_exit = True
            thread.join()


__all__ = ["FREE", "ROLES", "SPEC", "Running", "running", "spec_with", "world"]
