"""Words that say little alone name one class each, so that a search for one finds one place."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "trimtab"
SHORT = ("Desk", "Line", "Local", "Part", "Plan", "Run", "Spec", "State", "Told")


def test_short_names_are_given_once() -> None:
    classes = Counter(
        node.name
        for path in SOURCE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert classes["Told"] == 1
    assert {name: classes[name] for name in SHORT if classes[name] > 1} == {}
