"""Links in documents lead somewhere: to a file, and to a heading in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "benchmarks").rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The addresses of a page's headings, as GitHub and the site make them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    plain = (re.sub(r"[`*]|\]\([^)]*\)", "", head) for head in heads)
    words = (re.sub(r"[^\w\s-]", "", head).strip() for head in plain)
    return {re.sub(r"\s", "-", word.lower()) for word in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    wrong = []
    for target in LINK.findall(text):
        path, _, anchor = target.partition("#")
        if "://" in path or path.startswith("mailto:"):
            continue
        found = (page.parent / path).resolve() if path else page
        if not found.exists() or (
            anchor and found.suffix == ".md" and anchor not in anchors(found)
        ):
            wrong.append(target)
    assert wrong == []


def test_pages_are_found() -> None:
    assert len(PAGES) > 20
