"""A class has a name of its own: who reads it in a message or a search finds one place."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "trimtab"
TWICE = {  # what both are, in words that would only be longer
    "Beliefs": "of a learner, and those that a spec states",
    "Bound": "the objective of a solve, the bound of a theorem, and what is proven of a minimum",
    "Comparison": "of a published number with ours, and of a metric with its limit",
    "Constraint": "of a solve, and of a spec",
    "Coordinates": "of a basis, and of the knobs that a local search moves",
    "Correlated": "noise between criteria, and the worlds that advice draws with it",
    "Job": "what one process plays: each experiment of the paper has its own",
    "Settings": "each experiment of the paper has its own, and all are made by the same call",
    "Shape": "of a loss, of a world and of a value in a spec",
    "Source": "of metrics, and of a history",
    "Table": "of a report, and of a spec",
    "Verdict": "on a published number, and on a guardrail",
}


def test_no_class_has_the_name_of_another() -> None:
    where = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                where[node.name].append(path.relative_to(SOURCE).as_posix())
    assert len(where) > 100
    twice = {name: paths for name, paths in where.items() if len(paths) > 1}
    assert set(twice) <= set(TWICE), twice
