"""The servers of the example: PostgreSQL for all lanes together, and a Redis for each."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.postgres import Server
from tests.system_packages import postgresql
from trimtab.errors import NotFound

PATIENCE = 10.0  # seconds until a server must answer


def require_programs() -> None:
    """Nothing, if both servers are installed.

    Raises:
        NotFound: one is not; the message names the package.
    """
    if shutil.which("redis-server") is None:
        raise NotFound("redis-server is not installed; install it, e.g. apt install redis-server")
    if postgresql() is None:
        raise NotFound("PostgreSQL's initdb is not installed; e.g. apt install postgresql")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """An empty folder, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="trimtab-cache-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of a running PostgreSQL with empty data; it is stopped and removed at the end."""
    server = Server()
    try:
        server.start()
        try:
            yield server.url
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(server.folder, ignore_errors=True)


@contextmanager
def redis_server(folder: Path, name: str) -> Iterator[Path]:
    """The socket of a running, empty Redis that writes nothing to disk; stopped at the end."""
    socket = folder / f"{name}.sock"
    settings = {
        "port": "0",
        "unixsocket": str(socket),
        "save": "",
        "appendonly": "no",
        "maxmemory-policy": "allkeys-lru",
        "dir": str(folder),
        "set-proc-title": "no",  # it would overwrite the environment, by which tests find it
    }
    process = subprocess.Popen(
        [
            "redis-server",
            *(part for key, value in settings.items() for part in (f"--{key}", value)),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for us: we stop it
    )
    try:
        _wait_for(socket, process)
        yield socket
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(socket: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not socket.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise NotFound(
                f"redis-server did not start (exit code {process.poll()}); "
                f"run redis-server --port 0 --unixsocket {socket} to see why"
            )
        time.sleep(0.01)
