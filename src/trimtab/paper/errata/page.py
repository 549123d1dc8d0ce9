"""The errata in a terminal, and as a document: one HTML file, formulas drawn, nothing fetched."""

from __future__ import annotations

import base64
import re
from functools import cache
from html import escape
from io import BytesIO
from pathlib import Path

from rich.console import Console
from rich.table import Table

from trimtab.errors import InvalidInput
from trimtab.paper.errata.entries import ERRATA
from trimtab.paper.errata.entry import Erratum, Finding
from trimtab.plot import page as pages

TITLE = "Errata to “Beyond Binary: Continuous State Optimization with Graph-Structured Objectives”"
LEAD = (
    "Statements of the paper by Cortes, Mansour and Mohri that do not hold as printed. Each has "
    "the "
    "smallest counterexample that we know, what running it gave when this page was written, the "
    "corrected statement and a sketch of its proof. What is not listed we found to be correct, "
    "or could not fault."
)
FOOT = (
    "Written by `trimtab errata --out FILE`. "
    "`trimtab errata --check` runs the counterexamples again."
)
SIZE = 11  # points of a formula


def findings() -> list[tuple[Erratum, Finding]]:
    """Every statement with what its counterexample gives."""
    return [(each, each.run()) for each in ERRATA]


def check(console: Console) -> bool:
    """Run every counterexample and print what it gives; whether all of them still contradict."""
    table = Table(title="Statements of the paper that do not hold", title_justify="left")
    for column in ("statement", "verdict", "claimed", "found", "what the counterexample gives"):
        table.add_column(column, justify="right" if column in ("claimed", "found") else "left")
    found = findings()
    for each, finding in found:
        verdict = each.kind if finding.holds else "NOT CONTRADICTED"
        table.add_row(
            each.key, verdict, f"{finding.claimed:.4g}", f"{finding.found:.4g}", finding.text
        )
    console.print(table)
    silent = [each.key for each, finding in found if not finding.holds]
    if silent:
        console.print(f"These counterexamples contradict nothing any more: {', '.join(silent)}")
    else:
        console.print(f"All {len(found)} counterexamples hold.")
    return not silent


def write(path: Path) -> None:
    """Run every counterexample and write the document."""
    pages.refuse_unwritable(path)
    pages.write(path, document(findings()))


def document(found: list[tuple[Erratum, Finding]]) -> str:
    """The whole page."""
    sections = [
        pages.Section(key=each.key, title=each.title, body=_body(each, finding))
        for each, finding in found
    ]
    return pages.page(title=TITLE, lead=LEAD, sections=sections, foot=FOOT)


def _body(each: Erratum, finding: Finding) -> str:
    parts = [
        ("Where", escape(each.place)),
        (f"Printed ({each.kind})", _text(each.printed)),
        (
            "Counterexample",
            f"{_text(each.example)} <strong>It gives:</strong> {escape(finding.text)}.",
        ),
        ("Corrected", _text(each.corrected)),
        ("Why", _text(each.proof)),
        ("Test", f"<code>{escape(each.test)}</code>"),
    ]
    return "".join(f"<h3>{name}</h3><p>{text}</p>" for name, text in parts)


def _text(text: str) -> str:
    """Plain text with formulas between dollar signs."""
    pieces = re.split(r"(\$[^$]+\$)", text)
    return "".join(_formula(p) if p.startswith("$") else escape(p) for p in pieces)


@cache
def _formula(tex: str) -> str:
    """A formula as a picture that carries its source for those who do not see it."""
    try:
        import matplotlib as mpl
        from matplotlib.mathtext import math_to_image
    except ImportError as error:
        raise InvalidInput("formulas need matplotlib; install trimtab[paper]") from error
    from matplotlib.font_manager import FontProperties

    drawn = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "trimtab", "mathtext.fontset": "cm"}):
        depth = math_to_image(tex, drawn, format="svg", prop=FontProperties(size=SIZE))
    svg = re.sub(rb"<metadata>.*?</metadata>", b"", drawn.getvalue(), flags=re.DOTALL)
    height = re.search(rb'height="([\d.]+)pt"', svg)
    tall = float(height.group(1)) / SIZE if height else 1.0
    data = base64.b64encode(svg).decode()
    return (
        f'<img alt="{escape(tex[1:-1])}" src="data:image/svg+xml;base64,{data}" '
        f'style="height:{tall:.3f}em;vertical-align:-{depth / SIZE:.3f}em;'
        'background:#fff;max-width:100%">'
    )
