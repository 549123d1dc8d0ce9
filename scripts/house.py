"""Count the house: files, lines, folders, the longest chain of imports, and calls on three paths.

    python scripts/house.py            of this checkout; the environment must have it installed
    python scripts/house.py --table    beside what was before: the table of decision 17

A path is counted by the interpreter's profiler: calls of Python functions of the library, and the
files that they are in. A *look* is the tell of the recommended policy after which it looks again,
the median of 20 looks on a ring of six knobs; a *frozen tell* is one that changes nothing but
sums. The first 60 of each are left out: then the first losses are still kept one by one.
`Tuner.tell` is one with a journal in SQLite, the median of 20.
"""

from __future__ import annotations

import ast
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TypeVar

T = TypeVar("T")
SOURCE = Path(__file__).resolve().parents[1] / "src" / "trimtab"
MANY, SHORT = 15, 40  # modules of a folder, lines of a module
COUNTED = 20  # calls of each path
FIRST = 60  # looks and frozen tells that are not counted
SPEC = """
name = "counted"
storage = "sqlite:///{folder}/counted.db"
[knobs.a]
low = 0.0
high = 1.0
start = 0.5
[knobs.b]
low = 0.0
high = 1.0
start = 0.5
[objectives.x]
knobs = ["a", "b"]
low = 0.0
high = 1.0
"""


def modules() -> dict[str, Path]:
    """Every module of the library by its dotted name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the library that a module imports when it is loaded."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found |= {name for name in (whole, node.module) if name in known}
    return found


def longest_chain(known: dict[str, Path]) -> list[str]:
    """The longest chain of modules in which each imports the next."""
    graph = {name: imports(path, known) - {name} for name, path in known.items()}
    best: dict[str, list[str]] = {}

    def chain(name: str, above: tuple[str, ...]) -> list[str]:
        if name not in best:
            below = (
                chain(other, (*above, name)) for other in sorted(graph[name]) if other not in above
            )
            best[name] = [name, *max(below, key=len, default=[])]
        return best[name]

    return max((chain(name, ()) for name in graph if name != "trimtab"), key=len)


def counted(call: Callable[[], T]) -> tuple[int, int, T]:
    """How many Python functions of the library a call runs, in how many files; its result."""
    files: list[str] = []

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            files.append(frame.f_code.co_filename)

    sys.setprofile(see)
    try:
        result = call()
    finally:
        sys.setprofile(None)
    return len(files), len(set(files)), result


def middle(found: list[tuple[int, int]]) -> str:
    """The medians of calls and files."""
    calls, files = zip(*found, strict=True)
    return f"{statistics.median(calls):.0f} calls in {statistics.median(files):.0f} files"


def policy_paths() -> tuple[str, str]:
    """What a look and a frozen tell of the recommended policy take."""
    import numpy as np

    import trimtab as tt

    graph = tt.Graph.from_edges(6, [(j, (j + 1) % 6) for j in range(6)])
    world = tt.worlds.quadratic(graph, seed=1, move_cost=1.0)
    policy = tt.SteadyGraphLinUCB(world.problem, start=np.full(6, 0.5))
    rng = np.random.default_rng(1)
    looks: list[tuple[int, int]] = []
    frozen: list[tuple[int, int]] = []
    while min(len(looks), len(frozen)) < FIRST + COUNTED:
        calls, files, told = counted(partial(policy.tell, world.draw(policy.ask(), rng)))
        (frozen if told.record is None else looks).append((calls, files))
    return middle(looks[FIRST:][:COUNTED]), middle(frozen[FIRST:][:COUNTED])


def tuner_path() -> str:
    """What the `Tuner.tell` of a decision takes."""
    import trimtab as tt

    found = []
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "counted.toml"
        spec.write_text(SPEC.format(folder=folder), encoding="utf-8")
        with tt.Tuner(spec) as tuner:
            for n in range(2 * COUNTED):
                losses = {"x": 0.5 + 0.01 * (n % 3)}
                found.append(counted(partial(tuner.tell, tuner.ask().id, losses))[:2])
    return middle(found[COUNTED:])


BEFORE = {  # commit 15741cd1, counted by this script
    "Python files, lines, folders": "261, 35,368, 20",
    "folders of more than 15 modules": "5",
    "median module, longest, lines": "121, 568",
    "longest chain of imports": "43",
    "a look, six knobs": "746 calls in 31 files",
    "a frozen tell": "33 calls in 11 files",
    "`Tuner.tell`": "193 calls in 21 files",
}


def table() -> Iterator[str]:
    """What was there before the rooms, and what is there now, in Markdown."""
    counts = {words.partition(":")[0]: words.partition(": ")[2] for words in report()}
    files = counts["files, lines, folders"]
    chain, _, _ = counts["longest chain of imports"].partition(" ")
    now = (
        files,
        "0" if counts["folders of more than 15 modules"] == "none" else "some",
        counts["median module, longest"],
        chain,
        counts["a look"],
        counts["a frozen tell"],
        counts["Tuner.tell"],
    )
    yield "| | before | after |"
    yield "|---|--:|--:|"
    for (name, before), after in zip(BEFORE.items(), now, strict=True):
        yield f"| {name} | {before} | {after} |"


def report() -> Iterator[str]:
    """All counts, line by line."""
    known = modules()
    lines = {name: path.read_text(encoding="utf-8").count("\n") for name, path in known.items()}
    folders: dict[Path, int] = {}
    for path in known.values():
        folders[path.parent] = folders.get(path.parent, 0) + (path.name != "__init__.py")
    sizes = [n for name, n in lines.items() if known[name].name != "__init__.py"]
    crowded = {str(f.relative_to(SOURCE.parent)): n for f, n in folders.items() if n > MANY}
    chain = longest_chain(known)
    look, frozen = policy_paths()
    yield f"files, lines, folders: {len(known)}, {sum(lines.values()):,}, {len(folders)}"
    yield f"median module, longest: {statistics.median(sizes):.0f}, {max(sizes)}"
    yield f"modules under {SHORT} lines: {sum(n < SHORT for n in sizes)}"
    yield f"folders of more than {MANY} modules: {crowded or 'none'}"
    yield f"longest chain of imports: {len(chain)} ({' > '.join(chain)})"
    yield f"a look: {look}"
    yield f"a frozen tell: {frozen}"
    yield f"Tuner.tell: {tuner_path()}"


if __name__ == "__main__":
    shown = table() if "--table" in sys.argv[1:] else report()
    sys.stdout.writelines(f"{line}\n" for line in shown)
