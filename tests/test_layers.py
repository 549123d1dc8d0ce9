"""Modules import leftwards only, and the numerics do neither I/O nor timing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
ORDER = (
    ("errors",),
    ("_core",),
    ("arrays",),
    ("graph",),
    ("domain",),
    ("bases",),
    ("problem",),
    ("estimators",),
    ("solvers",),
    ("lcb",),
    ("theory",),
    ("policies",),
    ("files",),
    ("sim", "live"),
    ("advise",),
    ("paper", "service"),
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
RESOLVED_LATE = {("trimtab.theory", "advise")}  # a public name that simulates, at its first use
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


def violations(source: str, module: str, package: str) -> list[str]:
    """What `module`, found in `package`, does that its layer does not allow."""
    layer = module.split(".")[1]
    if layer not in RANK:
        return [f"{module}: trimtab.{layer} has no place in the order of the layers"]
    tree = ast.parse(source)
    found = []
    for name in imported(tree, package):
        top, _, rest = name.partition(".")
        target = rest.split(".")[0]
        if top != "trimtab":
            if RANK[layer] <= NUMERICS_ONLY and top in OUTSIDE_WORLD.split():
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
        ("graph", "from trimtab.errors import InvalidInput\nimport numpy, math, timeit"),
        ("policies.lazy", "from trimtab.policies.base import Policy"),
        ("policies.lazy", "from .base import Policy\nfrom ..lcb import value"),
        ("policies.lazy", "from . import base\nfrom .. import theory"),
        ("sim.play", "import time, logging\nfrom trimtab import problem\nprint(1)"),
        ("cli", "from trimtab import __version__\nimport trimtab.paper.report, rich"),
    ],
)
def test_allowed(module: str, source: str) -> None:
    package = f"trimtab.{module}".rpartition(".")[0]
    assert violations(source, f"trimtab.{module}", package) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("graph", "from trimtab.domain import Box"),  # same layer, other module
        ("graph", "import trimtab.problem as p"),
        ("errors", "from trimtab import arrays"),
        ("lcb", "from trimtab import Graph"),  # through the lazy table
        ("lcb", "import trimtab"),
        ("estimators.prior", "def f():\n    from trimtab.solvers import cells"),
        ("estimators.prior", "if TYPE_CHECKING:\n    from trimtab.solvers import cells"),
        ("estimators.joint", "from .. import policies"),
        ("estimators.joint", "from ..policies.lazy import LinUCB"),
        ("sim.play", "from trimtab.live import tuner"),
        ("live.tuner", "import trimtab.sim.play"),
        ("theory.lazy", "def f():\n    from trimtab import advise"),
        ("live.tuner", "from trimtab.advise import advise"),
        ("paper.adult", "from trimtab.cli import main"),
        ("policies.base", "import logging"),
        ("policies.base", "def f():\n    from os.path import join"),
        ("solvers.cells", "import time"),
        ("theory", "print(1)"),
        ("misc", "x = 1"),  # not in the order
        ("sim.play", "from trimtab.utils import x"),
    ],
)
def test_refused(module: str, source: str) -> None:
    package = f"trimtab.{module}".rpartition(".")[0]
    assert len(violations(source, f"trimtab.{module}", package)) == 1
