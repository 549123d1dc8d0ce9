"""A small HTTP server in a thread, which answers as it is told and remembers what it got."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Got:
    """A request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Reply:
    """What is answered."""

    content: bytes = b"{}"
    status: int = 200
    after: float = 0.0  # seconds
    cut: bool = False  # the connection ends in the middle of the content
    date: str | None = None


@dataclass
class Server:
    """Answers by a function, which may be replaced at any time."""

    url: str
    answer: Callable[[Got], Reply]
    got: list[Got] = field(default_factory=list)


@contextmanager
def server(answer: Callable[[Got], Reply] = lambda got: Reply()) -> Iterator[Server]:
    """A running server; it ends with the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            got = Got(self.command, self.path, headers, body)
            made.got.append(got)
            reply = made.answer(got)
            time.sleep(reply.after)
            self.send_response_only(reply.status)
            self.send_header("Date", reply.date or self.date_time_string())
            self.send_header("Content-Length", str(len(reply.content)))
            self.end_headers()
            content = reply.content[: len(reply.content) // 2] if reply.cut else reply.content
            self.wfile.write(content)
            if reply.cut:
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = handle_one

        def log_message(self, *arguments: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    made = Server(f"http://127.0.0.1:{http.server_port}", answer)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def json_reply(content: Any, **options: Any) -> Reply:
    """An answer in JSON."""
    return Reply(json.dumps(content).encode(), **options)
