"""No run of ten or more lines stands twice in the sources without a reason."""

from __future__ import annotations

import ast
import re
from itertools import combinations
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
FILES = sorted(p for p in SOURCE.rglob("*") if p.suffix in (".py", ".pyi", ".hpp", ".cpp"))
RUN = 10  # lines, empty ones and imports left out
IMPORT = re.compile(r"^ *(from [\w.]+ )?import (\([^)]*\)|.*)$", re.MULTILINE)
SPELT_OUT = "the arguments of a constructor are spelt out, and say what they are where they stand"
REASONS = {
    ("trimtab/policies/async_.py", "trimtab/policies/lazy_policy.py"): SPELT_OUT,
    ("trimtab/policies/joint/learner.py", "trimtab/policies/learner/learner.py"): SPELT_OUT,
    ("trimtab/policies/linucb.py", "trimtab/policies/pooled/scalar.py"): SPELT_OUT,
}

Places = dict[tuple[str, ...], list[tuple[str, int]]]


def runs(texts: dict[str, str], length: int = RUN) -> Places:
    """Where each run of `length` lines begins: the file, and the number of its first line."""
    found: Places = {}
    for name, text in texts.items():
        bare = IMPORT.sub(lambda block: "\n" * block[0].count("\n"), text)
        lines = [(n, line.strip()) for n, line in enumerate(bare.splitlines(), 1) if line.strip()]
        for at in range(len(lines) - length + 1):
            run = lines[at : at + length]
            found.setdefault(tuple(line for _, line in run), []).append((name, run[0][0]))
    return found


def without_imports(path: Path) -> str:
    """The text of a file; lists of imports say the same wherever the same is used."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.suffix in (".py", ".pyi"):
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                end = node.end_lineno or node.lineno
                lines[node.lineno - 1 : end] = [""] * (end - node.lineno + 1)
    return "\n".join(lines)


def repeated(texts: dict[str, str], length: int = RUN) -> dict[tuple[str, str], tuple[int, int]]:
    """Pairs of files that share a run, and where its first occurrences begin."""
    pairs: dict[tuple[str, str], tuple[int, int]] = {}
    for places in runs(texts, length).values():
        for (one, a), (other, b) in combinations(places, 2):
            pairs.setdefault((one, other), (a, b))
    return pairs


def test_what_stands_twice_is_found() -> None:
    twelve = "\n".join(f"    line {n}" for n in range(12))
    texts = {"a": f"x\n{twelve}\n", "b": f"{twelve.replace('    ', '')}\ny\n", "c": "line 3\n" * 3}
    assert repeated(texts) == {("a", "b"): (2, 1)}
    assert repeated({"a": f"{twelve}\n\nz\n{twelve}\n"}) == {("a", "a"): (1, 15)}
    assert repeated({"a": twelve[:90], "b": twelve[:90]}) == {}
    imports = "from a import (\n" + "    b,\n" * 12 + ")\n"
    assert repeated({"a": imports, "b": imports}) == {}


def test_nothing_stands_twice_without_a_reason() -> None:
    texts = {path.relative_to(SOURCE).as_posix(): without_imports(path) for path in FILES}
    assert len(texts) > 200
    assert set(repeated(texts)) == set(REASONS), repeated(texts)
