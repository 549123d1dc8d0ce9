"""Starting is cheap: neither the package nor the command line's help loads the numerics."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("trimtab")

SHOW_HELP = """
import sys
sys.argv = ["trimtab", "--help"]
from trimtab.cli import main
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
"""
REPORT = """
import sys
print("loaded:", *sorted({"numpy", "numba", "scipy", "networkx"} & set(sys.modules)))
"""


@pytest.mark.parametrize("action", ["import trimtab; dir(trimtab)", SHOW_HELP])
def test_numerics_are_not_loaded(action: str) -> None:
    child = subprocess.run(
        [sys.executable, "-c", action + "\n" + REPORT], capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout.splitlines()[-1].strip() == "loaded:"


COMMANDS = """
import sys
from trimtab.cli import main

def run(*arguments):
    sys.argv = ["trimtab", *arguments]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, stop.code

run("init", "spec.toml")
run("ask", "spec.toml")
run("tell", "spec.toml", "search-2", "latency_p99=200", "click_rate=5", "stale_results=5")
run("pause", "spec.toml")
run("status", "spec.toml")
print("loaded:", *sorted({
    "scipy", "networkx", "trimtab.policies.adaptive.policy", "trimtab.sim", "trimtab.theory"
} & set(sys.modules)))
"""


def test_commands_on_a_live_tuner_load_no_more_than_they_need(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout.splitlines()[-1].strip() == "loaded:"


def cpu_seconds_of_help() -> float:
    child = subprocess.Popen([COMMAND, "--help"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return usage.ru_utime + usage.ru_stime


def test_help_is_quick() -> None:
    # The best of five: the first may still write bytecode, others may share the machine.
    assert min(cpu_seconds_of_help() for _ in range(5)) < 0.3
