"""Tests that need a system package, such as a database server.

A test says so by `@pytest.mark.needs("postgresql")`. Where the package is absent the test is
deselected and listed by name at the end; with CI=true in the environment that is an error.
`tests/conftest.py` imports the hooks.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


def postgresql() -> str | None:
    """The folder of PostgreSQL's server programs, the newest if there are several."""
    if find_spec("psycopg") is None:
        return None
    folders = [Path(found).parent] if (found := shutil.which("initdb")) else []
    folders += Path("/usr/lib/postgresql").glob("*/bin")  # Debian keeps them off the PATH
    usable = [folder for folder in folders if (folder / "initdb").exists()]
    return str(max(usable, key=lambda folder: _version(folder.parent.name))) if usable else None


def _version(name: str) -> float:
    return float(name) if name.replace(".", "", 1).isdigit() else 0.0


def chromium() -> str | None:
    """The browser's program, if there is Playwright to drive it."""
    if find_spec("playwright") is None:
        return None
    return shutil.which("chromium") or shutil.which("chromium-browser")


def redis() -> str | None:
    """Redis's server program."""
    return shutil.which("redis-server")


def prometheus() -> str | None:
    """Prometheus's server; its package brings promtool as well."""
    return shutil.which("prometheus") and shutil.which("promtool")


def tmux() -> str | None:
    """A terminal that can be driven."""
    return shutil.which("tmux")


def systemd() -> str | None:
    """What checks unit files."""
    return shutil.which("systemd-analyze")


def curl() -> str | None:
    """The program that the documents of the service use."""
    return shutil.which("curl")


FINDERS: dict[str, Callable[[], str | None]] = {
    "postgresql": postgresql,
    "chromium": chromium,
    "redis": redis,
    "prometheus": prometheus,
    "tmux": tmux,
    "systemd": systemd,
    "curl": curl,
}
LACKING = pytest.StashKey[dict[str, str]]()  # the package that is absent, by test


def needed(item: pytest.Item) -> Iterator[str]:
    """The packages that the test names."""
    for mark in item.iter_markers("needs"):
        yield from mark.args


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", f"needs(package): one of {', '.join(FINDERS)}")
    config.stash[LACKING] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out the tests whose packages are absent; in continuous integration, refuse."""
    absent = {name for name, find in FINDERS.items() if find() is None}
    lacking = config.stash[LACKING]
    for item in items:
        if missing := sorted(set(needed(item)) & absent):
            lacking[item.nodeid] = ", ".join(missing)
    if lacking and os.environ.get("CI") == "true":
        names = ", ".join(sorted(set(lacking.values())))
        raise pytest.UsageError(
            f"CI=true, but {names} is not installed; {len(lacking)} tests need it"
        )
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in lacking])
    items[:] = [item for item in items if item.nodeid not in lacking]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the controlling process of pytest-xdist what this worker left out."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["lacking"] = session.config.stash[LACKING]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker left out."""
    node.config.stash[LACKING].update(getattr(node, "workeroutput", {}).get("lacking", {}))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """List the tests that were left out."""
    if lacking := config.stash[LACKING]:
        terminalreporter.section("not run: a system package is absent")
        for name, packages in sorted(lacking.items()):
            terminalreporter.write_line(f"{name} needs {packages}")
