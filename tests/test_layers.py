"""Modules import leftwards only, and the numerics do neither I/O nor timing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
ORDER = (  # a room of a room that is listed comes before the rest of that
    ("errors",),
    ("display",),
    ("registry",),
    ("plain",),
    ("_core",),
    ("arrays",),
    ("model.graph",),
    ("model.domain",),
    ("model.bases",),
    ("model",),
    ("learn",),
    ("solve",),
    ("theory",),
    ("policies",),
    ("files",),
    ("parallel",),
    ("live.spec",),
    ("live.store",),
    ("live.state",),
    ("sim", "live"),
    ("advise",),
    ("plot",),
    ("demo", "sweeps", "paper", "run"),
    ("serve",),
    ("cli",),
    ("__main__",),
)
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
NUMERICS_ONLY = RANK["policies"]
OUTSIDE_WORLD = """
    aiohttp asyncio concurrent datetime fcntl glob http httpx importlib io logging
    multiprocessing os pathlib pickle platform queue random requests rich secrets select
    selectors shelve shutil signal socket sqlite3 ssl subprocess sys tempfile threading time
    typer urllib uuid
"""
ALLOWED = {("trimtab.registry", "importlib")}  # packages join lists by entry points
RESOLVED_LATE = {  # at the first use: a public name that simulates, and what draws an object
    ("trimtab.theory", "advise"),
    ("trimtab.display", "plot"),
    ("trimtab.sim.trace", "plot"),
    ("trimtab.live.tuner", "plot"),
}
OUTSIDE_CALLS = {"breakpoint", "input", "open", "print"}

MODULES = [
    path
    for path in sorted((SOURCE / "trimtab").rglob("*.py"))
    if path != SOURCE / "trimtab" / "__init__.py"  # the lazy table of public names
]


def imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Absolute dotted names of what is imported, wherever in the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) + 1 - node.level], base]).rstrip(".")
            yield from (f"{base}.{alias.name}" for alias in node.names)


def room_of(name: str) -> str:
    """The layer that a dotted name below trimtab belongs to, or its first part if to none."""
    parts = name.split(".")
    rooms = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((room for room in rooms if room in RANK), parts[0])


def violations(source: str, module: str, package: str) -> list[str]:
    """What `module`, found in `package`, does that its layer does not allow."""
    layer = room_of(module.partition(".")[2])
    if layer not in RANK:
        return [f"{module}: trimtab.{layer} has no place in the order of the layers"]
    tree = ast.parse(source)
    found = []
    for name in imported(tree, package):
        top, _, rest = name.partition(".")
        target = room_of(rest)
        if top != "trimtab":
            outside = top in OUTSIDE_WORLD.split() and (module, top) not in ALLOWED
            if RANK[layer] <= NUMERICS_ONLY and outside:
                found.append(f"{module} imports {name}: it is numerics only")
        elif target in (layer, "__version__"):
            continue
        elif target not in RANK:
            found.append(f"{module} imports {name}: name the module that defines it")
        elif RANK[target] >= RANK[layer] and (module, target) not in RESOLVED_LATE:
            found.append(f"{module} imports {name}: only layers to the left of {layer}")
    if RANK[layer] <= NUMERICS_ONLY:
        found += [
            f"{module} calls {node.func.id}(): it is numerics only"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in OUTSIDE_CALLS
        ]
    return found


def test_modules_are_found() -> None:
    assert SOURCE / "trimtab" / "errors.py" in MODULES


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_layers(path: Path) -> None:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    package = ".".join(parts[:-1])
    module = package if parts[-1] == "__init__" else f"{package}.{parts[-1]}"
    assert violations(path.read_text(encoding="utf-8"), module, package) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "model.graph.graph",
            "from trimtab.errors import InvalidInput\nimport numpy, math, timeit",
        ),
        ("policies.lazy", "from trimtab.policies.base import Policy"),
        ("policies.lazy", "from .base import Policy\nfrom ..solve import Bound"),
        ("policies.lazy", "from . import base\nfrom .. import theory"),
        ("sim.play", "import time, logging\nfrom trimtab.model import problem\nprint(1)"),
        ("cli", "from trimtab import __version__\nimport trimtab.paper.report, rich"),
    ],
)
def test_allowed(module: str, source: str) -> None:
    package = f"trimtab.{module}".rpartition(".")[0]
    assert violations(source, f"trimtab.{module}", package) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("model.graph", "from trimtab.model.domain import Box"),  # same layer, other module
        ("model.graph", "import trimtab.model.problem as p"),
        ("errors", "from trimtab import arrays"),
        ("solve.bound", "from trimtab import Graph"),  # through the lazy table
        ("solve.bound", "import trimtab"),
        ("learn.prior", "def f():\n    from trimtab.solve import branch"),
        ("learn.prior", "if TYPE_CHECKING:\n    from trimtab.solve import branch"),
        ("learn.joint", "from .. import policies"),
        ("learn.joint", "from ..policies.lazy import LinUCB"),
        ("sim.play", "from trimtab.live import tuner"),
        ("live.tuner", "import trimtab.sim.play"),
        ("theory.lazy", "def f():\n    from trimtab import advise"),
        ("live.tuner", "from trimtab.advise import advise"),
        ("paper.adult", "from trimtab.cli import main"),
        ("policies.base", "import logging"),
        ("policies.base", "def f():\n    from os.path import join"),
        ("solve.exact", "import time"),
        ("theory", "print(1)"),
        ("misc", "x = 1"),  # not in the order
        ("sim.play", "from trimtab.utils import x"),
    ],
)
def test_refused(module: str, source: str) -> None:
    package = f"trimtab.{module}".rpartition(".")[0]
    assert len(violations(source, f"trimtab.{module}", package)) == 1
