"""The documents say what the code says."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from pydoc import locate

import pytest

ROOT = Path(__file__).resolve().parent.parent
ERRATA = ROOT / "docs" / "errata.md"


def deviations() -> dict[str, list[str]]:
    """Every paragraph of a docstring that begins with `Deviation:`, by module."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                for paragraph in re.split(r"\n\s*\n", text):
                    if paragraph.startswith("Deviation:"):
                        name = path.relative_to(ROOT).as_posix()
                        found.setdefault(name, []).append(" ".join(paragraph.split()))
    return found


def page() -> str:
    """What the errata page must hold below its introduction."""
    parts = [f"## {name}\n\n" + "\n\n".join(lines) for name, lines in deviations().items()]
    return "\n\n".join(parts) + "\n"


def test_errata_are_the_deviations() -> None:
    text = ERRATA.read_text(encoding="utf-8")
    assert len(deviations()) >= 5
    assert text[text.index("## ") :] == page()


@pytest.mark.parametrize("name", ["paper-map.md", "notation.md"])
def test_named_tests_exist(name: str) -> None:
    defined = {
        match
        for path in (ROOT / "tests").rglob("*.py")
        for match in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))
    }
    files = {path.stem for path in (ROOT / "tests").rglob("*.py")}
    named = set(re.findall(r"test_\w+", (ROOT / "docs" / name).read_text(encoding="utf-8")))
    assert named <= defined | files
    if name == "paper-map.md":
        assert len(named) > 20


def test_every_public_name_is_documented() -> None:
    import trimtab as tt

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = readme + "".join(p.read_text(encoding="utf-8") for p in (ROOT / "docs").glob("*.md"))
    missing = [name for name in tt.__all__ if not re.search(rf"\b{name}\b", pages)]
    assert not missing


def test_the_walk_for_newcomers_leads_somewhere() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    walk = text.partition("## Where does X live?")[2].partition("\n## ")[0]
    paths = re.findall(r"^\| .+\? \| `(.+)` \|$", walk, flags=re.MULTILINE)
    assert len(paths) >= 20
    assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_code_that_the_paper_map_names_exists() -> None:
    rooms = {path.stem for path in (ROOT / "src" / "trimtab").iterdir()} | {"bases", "worlds"}
    text = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
    named = {name for name in re.findall(r"`(\w+\.[\w.]+)", text) if name.split(".")[0] in rooms}
    assert len(named) > 50
    assert sorted(name for name in named if not locate(f"trimtab.{name}")) == []
