"""A real Redis for tests, by a socket in a folder of its own."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest


class RedisServer:
    """Start it, stop it, kill it; its data are gone then."""

    def __init__(self, folder: Path, *, password: str = "") -> None:
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self._folder, self._password = folder, password
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.socket.unlink(missing_ok=True)
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "requirepass": self._password,
            "save": "",
            "dir": self._folder,
            "set-proc-title": "no",  # it would overwrite the environment, see `tests.orphans`
        }
        words = [str(word) for key, value in options.items() for word in (f"--{key}", value)]
        self.process = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
        for _ in range(1000):
            with suppress(OSError), socket.socket(socket.AF_UNIX) as made:
                made.connect(str(self.socket))  # the file is there before anybody listens
                return
            time.sleep(0.01)
        raise RuntimeError("redis-server does not start")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with tempfile.TemporaryDirectory(prefix="trimtab-redis-") as folder:
        made = RedisServer(Path(folder))
        made.start()
        yield made
        made.stop()


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="trimtab-redis-") as folder:
        made = RedisServer(Path(folder))
        made.start()
        yield made.url
        made.stop()
