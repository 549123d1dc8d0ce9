"""Tests whose system package is absent are left out and listed; in CI that is an error."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system_packages import FINDERS

ROOT = Path(__file__).parents[1]
CONFTEST = """
from tests.system_packages import *
from tests.system_packages import FINDERS
FINDERS["postgresql"] = lambda: None
FINDERS["chromium"] = lambda: "/bin/true"
"""
TESTS = """
import pytest

@pytest.mark.needs("postgresql")
def test_with_a_server(): raise AssertionError("it ran")

@pytest.mark.needs("chromium")
def test_with_a_browser(): pass

@pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.needs("postgresql"))])
def test_partly(x): assert x == 1
"""


ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # none of them is of use here


def run(folder: Path, *options: str, ci: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_it.py").write_text(TESTS, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CI": ci, **ALONE},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("workers", ["0", "2"])
def test_absent_packages_are_listed(tmp_path: Path, workers: str) -> None:
    result = run(tmp_path, "-n", workers, ci="")
    assert result.returncode == 0, result.stdout
    assert "2 passed" in result.stdout
    assert "not run: a system package is absent" in result.stdout
    assert "test_it.py::test_with_a_server needs postgresql\n" in result.stdout
    assert "test_it.py::test_partly[2] needs postgresql\n" in result.stdout
    assert "test_with_a_browser needs" not in result.stdout


def test_absence_is_an_error_in_ci(tmp_path: Path) -> None:
    result = run(tmp_path, "-n", "0", ci="true")
    assert result.returncode != 0
    assert "CI=true, but postgresql is not installed; 2 tests need it" in result.stderr
    assert "passed" not in result.stdout


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda path: path.name)
def test_a_test_file_needs_neither_browser_nor_server_to_be_read(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    loaded = [
        ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert [line for line in loaded if "playwright" in line or "psycopg" in line] == []


def test_every_finder_answers() -> None:
    for find in FINDERS.values():
        assert find() is None or Path(str(find())).exists()
