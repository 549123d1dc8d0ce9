"""Everything around `trimtab run`: the service, Redis, Prometheus, a webhook receiver, the loop.

All of it real and on this machine only, in a temporary folder; nothing is left at the end.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from servers import PATIENCE, redis_server, temporary_folder

from trimtab.errors import NotFound
from trimtab.live import Spec

HERE = Path(__file__).resolve().parent
PROMETHEUS = """
global: {{scrape_interval: {interval}, scrape_timeout: {interval}}}
scrape_configs:
  - job_name: cache
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""
SECRET = "a secret of the stack"


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
        return port


@contextmanager
def running(command: Sequence[str], log: Path, **variables: str) -> Iterator[subprocess.Popen[Any]]:
    """A process, ended with the block: by SIGTERM, and in the end by SIGKILL."""
    with log.open("ab") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=os.environ | variables,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)  # one that was stopped would not hear
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def receiver() -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """The URL of a webhook receiver, and the list of what it gets: headers and body."""
    got: list[tuple[dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append(({name.lower(): x for name, x in self.headers.items()}, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def until(what: Callable[[], Any], *, seconds: float, why: str) -> Any:
    """The first true answer.

    Raises:
        TimeoutError: there was none in time.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.1)
    raise TimeoutError(f"{why}: not in {seconds:g} s")


class Stack:
    """The whole arrangement; the loop is started by `loop`.

    Args:
        spec: of the loop: `run.toml`, perhaps changed. Its storage is put into the folder.
        options: more arguments of the exporter.
        interval: between two scrapes.
    """

    def __init__(self, spec: Spec, *, options: Sequence[str] = (), interval: str = "250ms") -> None:
        self._spec, self._options, self._interval = spec, options, interval
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start all but the loop.

        Raises:
            NotFound: Prometheus is not installed.
        """
        if shutil.which("prometheus") is None:
            raise NotFound("prometheus is not installed; e.g. apt install prometheus")
        with ExitStack() as stack:
            self.folder = stack.enter_context(temporary_folder())
            self.hook, self.got = stack.enter_context(receiver())
            self.redis = f"unix://{stack.enter_context(redis_server(self.folder, 'knobs'))}"
            port = free_port()
            self.windows = self.folder / "windows.csv"
            words = ["--redis", self.redis, "--port", str(port), "--out", str(self.windows)]
            self.exporter = stack.enter_context(
                running(
                    [sys.executable, str(HERE / "exporter.py"), *words, *self._options],
                    self.folder / "exporter.log",
                    PYTHONPATH=str(HERE.parents[1]),
                )
            )
            config = self.folder / "prometheus.yml"
            config.write_text(PROMETHEUS.format(port=port, interval=self._interval))
            listen = f"127.0.0.1:{free_port()}"
            self.url = f"http://{listen}"
            self.prometheus = stack.enter_context(
                running(
                    [
                        "prometheus",
                        f"--config.file={config}",
                        f"--storage.tsdb.path={self.folder / 'tsdb'}",
                        f"--web.listen-address={listen}",
                    ],
                    self.folder / "prometheus.log",
                )
            )
            until(self._scraped, seconds=60, why=f"Prometheus at {self.url} has metrics")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        """End everything."""
        self._stack.close()

    def _scraped(self) -> bool:
        url = f"{self.url}/api/v1/query?query=cache_requests_total"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return bool(json.load(answer)["data"]["result"])
        except OSError:
            return False

    @contextmanager
    def loop(self, *options: str) -> Iterator[subprocess.Popen[Any]]:
        """`trimtab run`, as a process; its log is `run.log`."""
        path = self.folder / "spec.json.toml"
        path.write_text(toml_of(self._spec))
        command = [str(Path(sys.executable).with_name("trimtab")), "run", str(path), *options]
        with running(
            [*command, "--storage", self.storage],
            self.folder / "run.log",
            PROMETHEUS_URL=self.url,
            REDIS_URL=self.redis,
            WEBHOOK_URL=self.hook,
            WEBHOOK_SECRET=SECRET,
        ) as process:
            yield process

    @property
    def storage(self) -> str:
        """Where the journal is."""
        return f"sqlite:///{self.folder / 'journal.db'}"

    @property
    def log(self) -> str:
        """What the loop has said."""
        return (self.folder / "run.log").read_text()


def toml_of(spec: Spec) -> str:
    """A spec as TOML: inline tables, written as JSON with = for :."""

    def shown(value: Any) -> str:
        if isinstance(value, dict):
            inside = ", ".join(f"{json.dumps(key)} = {shown(x)}" for key, x in value.items())
            return f"{{ {inside} }}"
        if isinstance(value, list):
            return f"[{', '.join(shown(x) for x in value)}]"
        return json.dumps(value)

    return "".join(f"{key} = {shown(value)}\n" for key, value in spec.to_dict().items())
