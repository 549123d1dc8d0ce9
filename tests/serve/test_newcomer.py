"""The blocks of docs/serve.md, executed as a newcomer would, and the first minute timed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from trimtab.serve.server import listening

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIRST_PAGE = 30.0  # seconds until a page with a live tuner is there, on a machine with other work


def blocks() -> Iterator[tuple[str, str]]:
    """Language and text of every block, in order."""
    yield from BLOCK.findall(PAGE.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.needs("curl")
def test_the_blocks_of_the_page_run(tmp_path: Path) -> None:
    with listening("127.0.0.1", 0) as socket:
        port = str(socket.getsockname()[1])
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "OPENBLAS_NUM_THREADS": "1"}
    servers: list[subprocess.Popen[str]] = []
    ran = 0
    try:
        for language, block in blocks():
            text = block.replace("8321", port)
            if text.startswith("trimtab serve"):
                for server in servers:
                    server.send_signal(signal.SIGTERM)
                    server.wait(timeout=30)
                command = f"exec {text.strip()} --port {port}"
                began = time.monotonic()
                server = subprocess.Popen(
                    ["bash", "-c", command],
                    cwd=tmp_path,
                    env=environment,
                    text=True,
                    stdout=subprocess.PIPE,
                )
                servers.append(server)
                token = first_token(server)
                environment["TRIMTAB_TOKEN"] = token
                if "--demo" in text:
                    seconds = live_page(f"http://127.0.0.1:{port}", token, began)
                    assert seconds < FIRST_PAGE
            elif language == "sh":
                done = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", text],
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, (text, done.stdout, done.stderr)
                printed = done.stdout.strip()
                if printed.startswith("trimtab_") and "\n" not in printed:
                    environment["TRIMTAB_TOKEN"] = printed
            else:
                done = subprocess.run(
                    [sys.executable, "-c", text],
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, (text, done.stderr)
            ran += 1
    finally:
        for server in servers:
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
                server.wait(timeout=30)
            assert server.stdout is not None
            server.stdout.close()
    assert ran >= 5


def first_token(server: subprocess.Popen[str]) -> str:
    """The token that the server prints at its first start."""
    assert server.stdout is not None
    found: list[str] = []

    def read() -> None:
        assert server.stdout is not None
        for line in server.stdout:
            if match := re.search(r"trimtab_[0-9a-f]{12}_[\w-]{43}", line):
                found.append(match[0])
                return

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert found
    return found[0]


def live_page(url: str, token: str, began: float) -> float:
    """Seconds until the page shows a tuner with decisions."""
    headers = {"authorization": f"Bearer {token}"}
    while time.monotonic() - began < 60:
        try:
            page = httpx.get(f"{url}/tuners/recommender", headers=headers, timeout=30)
            if page.is_success and "move" in page.text:
                return time.monotonic() - began
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError("no page in a minute")
