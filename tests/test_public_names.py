"""Every public name resolves, and type checkers see the same names as the interpreter."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import trimtab as tt


@pytest.mark.parametrize("name", tt.__all__)
def test_name_resolves(name: str) -> None:
    assert getattr(tt, name) is not None
    assert name in dir(tt)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="Grph"):
        _ = tt.Grph  # type: ignore[attr-defined]  # and the checker sees it too


def test_typed_names_are_the_lazy_names() -> None:
    assert tt.__file__ is not None
    tree = ast.parse(Path(tt.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        alias.asname: getattr(import_module(node.module), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    assert typed == {name: getattr(tt, name) for name in tt.__all__}
