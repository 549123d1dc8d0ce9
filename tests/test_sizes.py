"""No folder is over-full, no module so small that another could hold it, and no path long."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "trimtab"
TESTS = Path(__file__).parent
MODULES = [path for path in SOURCE.rglob("*.py") if not path.name.startswith("__")]
MOST = 15  # modules of a folder
FEW = 40  # lines of a module
REASONS = {
    "cli/demo.py": "one module a command",
    "cli/errata.py": "one module a command",
    "cli/report.py": "one module a command",
    "cli/reproduce.py": "one module a command",
    "display.py": "ten classes of six rooms have it",
    "cli/run.py": "one module a command",
    "cli/top.py": "one module a command",
    "live/store/faults.py": "what can go wrong with a journal, drawn once",
    "model/bases/registry.py": "a list that users join",
    "paper/errata/entry.py": "what a statement has, which three modules of counterexamples read",
    "policies/registry.py": "a list that users join",
    "run/faults.py": "what can go wrong outside, drawn once",
    "serve/api/parameters.py": "parameters that the endpoints of two modules and the pages share",
    "serve/health.py": "the endpoints that are no tuner's, one router as the others",
    "sim/worlds/registry.py": "a list that users join",
    "solve/solution.py": "what every method of a solve returns",
    "sweeps/local.py": "the counterpart of `cluster`",
}


def test_folders_have_fifteen_modules_at_most() -> None:
    crowds = Counter(path.parent for path in MODULES)
    assert {str(folder): n for folder, n in crowds.items() if n > MOST} == {}


def test_folders_of_tests_mirror_the_rooms() -> None:
    def rooms(folder: Path) -> set[str]:
        return {path.parent.name for path in folder.glob("*/*.py")}

    beside = {"benchmarks", "core"}  # of the repository, and of src/core
    assert rooms(TESTS) == rooms(SOURCE) | beside


def test_small_modules_have_a_reason() -> None:
    small = {
        path.relative_to(SOURCE).as_posix()
        for path in MODULES
        if len(path.read_text(encoding="utf-8").splitlines()) < FEW
    }
    assert small == set(REASONS)


@pytest.mark.slow
def test_paths_are_short() -> None:
    """The marks of decision 17, counted by the interpreter's profiler."""
    from scripts import house

    def within(found: str, calls: int, files: int) -> bool:
        words = found.split()  # "98 calls in 12 files"
        return int(words[0]) <= calls and int(words[3]) <= files

    look, frozen = house.policy_paths()
    assert within(look, 200, 12), look
    assert within(frozen, 10, 4), frozen
    tell = house.tuner_path()
    assert within(tell, 100, 12), tell
