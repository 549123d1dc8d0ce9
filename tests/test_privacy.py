"""A private name is used by the module that defines it, and by subclasses through `self`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
MODULES = sorted((SOURCE / "trimtab").rglob("*.py"))
OWNERS = ("self", "cls")
REASONS = {
    ("parallel/worker.py", "_exit"): "the documented way to end a process at once",
    ("paper/fairness/peer.py", "_operator"): "fairlearn shows its thresholds in no other way",
    ("paper/fairness/peer.py", "_threshold"): "the same",
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def defined(tree: ast.Module) -> set[str]:
    """Private names that the module gives to something of its own."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            owner = node.value
            found |= {node.attr} if isinstance(owner, ast.Name) and owner.id in OWNERS else set()
    return found


def bases(tree: ast.Module) -> set[str]:
    """Names of classes that the module's own inherit from."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {base.id for each in classes for base in each.bases if isinstance(base, ast.Name)}


def pokes(source: str) -> Iterator[str]:
    """Private names of others that the module uses."""
    tree = ast.parse(source)
    own, inherited = defined(tree), {*OWNERS, *bases(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module != "trimtab":
            yield from (alias.name for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
            owner = node.value
            if isinstance(owner, ast.Call) and ast.unparse(owner.func) == "super":
                continue
            if not (isinstance(owner, ast.Name) and owner.id in inherited):
                yield node.attr


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nobody_uses_private_names_of_others(path: Path) -> None:
    where = path.relative_to(SOURCE / "trimtab").as_posix()
    found = set(pokes(path.read_text(encoding="utf-8")))
    assert found == {name for file, name in REASONS if file == where}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from a import B\nclass C(B):\n    x = B._own\n    def f(self): return self._y", []),
        ("class C:\n    def f(self, other): self._x = 1; return other._x", []),
        ("class C(B):\n    def f(self): return super()._f()", []),
        ("def f(policy): return policy._gain", ["_gain"]),
        ("class C:\n    def f(self): self.inner._gain = 1", ["_gain"]),
        ("from a.b import _c", ["_c"]),
    ],
)
def test_pokes(source: str, found: list[str]) -> None:
    assert list(pokes(source)) == found
