"""A test run that is killed leaves no server behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONFTEST = "from tests.orphans import pytest_configure\n"
TEST = """
import subprocess
import sys
import time

def test_it():
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    program = f"import subprocess; print(subprocess.Popen({sleeper!r}).pid, flush=True)"
    command = [sys.executable, "-c", program + "; import time; time.sleep(600)"]
    child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, text=True)
    grandchild = child.stdout.readline().strip()
    with open("pids.part", "w") as file:
        file.write(f"{child.pid} {grandchild}")
    import os
    os.replace("pids.part", "pids")
    time.sleep(600)
"""


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_children_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
    run = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    pids = tmp_path / "pids"
    try:
        while not pids.exists():
            assert run.poll() is None
            time.sleep(0.02)
        children = [int(word) for word in pids.read_text().split()]
        assert all(map(alive, children))
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    while any(map(alive, children)):  # the suite's own limit ends a wait without end
        time.sleep(0.02)
