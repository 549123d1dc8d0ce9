"""Servers that tests have started end with the test run, however that ends.

Every process that a test starts inherits an environment variable with the name of this run. A
watcher, which no signal to the run reaches, waits until the run is over, by its end or by a kill,
and ends every process that still carries the name. `tests/conftest.py` imports the hook.
"""

from __future__ import annotations

import os
import sys
import uuid

import pytest

VARIABLE = "TRIMTAB_TEST_RUN"
WATCHER = """
import os, select, signal, sys, time

over, mark = int(sys.argv[1]), os.fsencode(sys.argv[2])
select.select([over], [], [])  # readable when the process has ended
for _ in range(20):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark in file.read().split(b"\\0"):
                    found.append(int(pid))
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:  # it has ended, or belongs to somebody else
            pass
    if not found:
        break
    time.sleep(0.1)
"""


def pytest_configure(config: pytest.Config) -> None:
    """Name the run, and watch it; where processes cannot be watched, nothing is done."""
    if not hasattr(os, "pidfd_open") or not os.path.isdir("/proc/self"):
        return
    name = str(uuid.uuid4())
    over = os.pidfd_open(os.getpid())
    os.set_inheritable(over, True)
    command = [sys.executable, "-IS", "-c", WATCHER, str(over), f"{VARIABLE}={name}"]
    silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
    os.posix_spawn(command[0], command, {}, file_actions=silent, setsid=True)
    os.close(over)
    os.environ[VARIABLE] = name  # a process of pytest-xdist gives its own children its own name
