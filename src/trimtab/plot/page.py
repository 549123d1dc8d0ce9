"""Reports as one HTML file: nothing fetched, readable on a phone and on paper.

The pieces are strings of HTML; text that goes into them is escaped here. A page with figures
carries plotly's script inside itself, compressed; one without has no script at all.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from trimtab.errors import InvalidInput
from trimtab.plot.theme import CONFIG, DARK

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --faint: #5c5c5c;
  --rule: #d9d9d9; --band: #f5f5f3; --link: #00558a; --good: #00633f; --fair: #7a4b00;
  --bad: #9c1c1c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e6; --paper: #161718; --faint: #a9a9a6;
  --rule: #3c3d3f; --band: #202224; --link: #7cc4f5; --good: #6fd3a6; --fair: #e8b45e;
  --bad: #ff9d94; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; line-height: 1.25; margin: 3rem 0 .5rem; padding-top: .75rem;
  border-top: 1px solid var(--rule); }
h3 { font-size: 1.05rem; margin: 2rem 0 .4rem; }
p, li { max-width: 44rem; }
a { color: var(--link); }
nav ol { padding-left: 1.3rem; margin: .4rem 0; }
.lead { font-size: 1.06rem; }
.scroll { overflow-x: auto; margin: .8rem 0 1.2rem; }
.scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-size: .88rem; line-height: 1.4; min-width: 100%; }
caption { text-align: left; font-weight: 600; padding: 0 0 .35rem; }
th, td { text-align: left; vertical-align: top; padding: .34rem .7rem .34rem 0;
  border-bottom: 1px solid var(--rule); }
thead th, thead .n { font-weight: 600; color: var(--faint); vertical-align: bottom;
  white-space: normal; }
tbody th { font-weight: 500; min-width: 8rem; }
pre { margin: 0; font-size: .85rem; line-height: 1.45; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
summary { cursor: pointer; color: var(--link); }
.short { white-space: nowrap; }
.good { color: var(--good); font-weight: 600; } .fair { color: var(--fair); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
figure { margin: 1.2rem 0 1.6rem; }
figure img { display: block; width: 100%; height: auto; background: #fff; border-radius: 4px; }
figure.plot { overflow: hidden; } .drawn { width: 100%; }
.drawn .modebar { opacity: .85; }
figcaption { font-size: .9rem; color: var(--faint); margin-top: .4rem; max-width: 44rem; }
footer { margin-top: 3rem; padding-top: .75rem; border-top: 1px solid var(--rule);
  font-size: .85rem; color: var(--faint); }
@media print { :root { --ink: #000; --paper: #fff; --faint: #444; --rule: #bbb; --band: #fff;
    --link: #000; --good: #004d31; --fair: #5c3900; --bad: #7a1010; }
  html { font-size: 10pt; } body { max-width: none; padding: 0; }
  .scroll { overflow: visible; } pre { white-space: pre-wrap; } table { font-size: 7.6pt; }
  .n, .short { white-space: normal; }
  details::details-content { content-visibility: visible; }
  figure, tr, li { break-inside: avoid; } h2, h3, caption { break-after: avoid; }
  a { text-decoration: none; } }
"""


DRAWN = 'class="drawn"'  # where a figure goes


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading of its own, listed in the table of contents."""

    key: str  # of its address: report.html#key
    title: str
    body: str  # HTML


@dataclass(frozen=True)
class Cell:
    """A cell of a table that needs a class: "good", "fair", "bad", "short" or "n"."""

    text: str
    kind: str


def page(*, title: str, lead: str, sections: Sequence[Section], foot: str) -> str:
    """A whole page: heading, contents, sections, foot."""
    contents = "".join(
        f'<li><a href="#{escape(s.key)}">{escape(s.title)}</a></li>' for s in sections
    )
    body = "".join(
        f'<section id="{escape(s.key)}"><h2>{escape(s.title)}</h2>{s.body}</section>'
        for s in sections
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'  # else a browser asks for one
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        f'<header><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p></header>'
        f'<nav aria-label="Contents"><ol>{contents}</ol></nav><main>{body}</main>'
        f"<footer><p>{escape(foot)}</p></footer>{scripts(body)}</body></html>\n"
    )


def scripts(body: str) -> str:
    """What draws the figures of a body, if it has any: plotly's script and ours."""
    if DRAWN not in body:
        return ""
    return (
        f'<script type="application/gzip" id="plotly">{_packed_plotly()}</script>'
        f"<script>{_script('unpack.js')}</script><script>{drawing_script()}</script>"
    )


@cache
def _packed_plotly() -> str:
    """Plotly's script as its wheel has it, compressed: 2.0 MB of letters instead of 4.8."""
    from plotly.offline import get_plotlyjs

    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()


def drawing_script() -> str:
    """The script that draws every figure of a page in the colours of the reader's screen."""
    return (
        _script("draw.js")
        .replace("/*CONFIG*/{}", json.dumps(CONFIG))
        .replace("/*DARK*/{}", json.dumps(DARK))
    )


def _script(name: str) -> str:
    return files("trimtab.plot").joinpath(name).read_text(encoding="utf-8")


def heading(text: str) -> str:
    """A heading within a section."""
    return f"<h3>{escape(text)}</h3>"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def emphasised(text: str) -> str:
    """A paragraph that readers in a hurry should find."""
    return f"<p><strong>{escape(text)}</strong></p>"


def bullets(items: Sequence[str]) -> str:
    """A list of plain texts.

    >>> bullets(["a < b"])
    '<ul><li>a &lt; b</li></ul>'
    """
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def preformatted(text: str, *, label: str) -> str:
    """Text as a terminal shows it; it scrolls by itself where the page is narrow."""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
        f"<pre>{escape(text)}</pre></div>"
    )


def folded(summary: str, body: str) -> str:
    """A part that opens when asked for, and is open on paper.

    Browsers from before 2025 print it folded: the summary has to say what is in it.
    """
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[str | float | Cell]]
) -> str:
    """A table that scrolls by itself where the page is narrow; the first column names the row."""
    kinds = [all(_number(row[j]) or row[j] == "" for row in rows) for j in range(len(columns))]
    head = "".join(
        f'<th scope="col"{_class("n" if number else "")}>{escape(column)}</th>'
        for column, number in zip(columns, kinds, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(_cell(cell, first=not j) for j, cell in enumerate(row))}</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def figure(*, wide: bytes, narrow: bytes, alt: str, caption: str) -> str:
    """A picture, as SVG for a page and for a phone, with what it shows in words."""
    return (
        f'<figure><picture><source media="(max-width: 40rem)" srcset="{_data(narrow)}">'
        f'<img src="{_data(wide)}" alt="{escape(alt)}"></picture>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def drawing(figure: Any, *, caption: str = "") -> str:
    """A plotly figure, with what it shows in words for those who do not see it."""
    alt = escape(figure.layout.meta["alt"])
    plain = figure.to_json().replace("</", "<\\/")  # else a name could end the script
    said = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return (
        f'<figure class="plot"><div {DRAWN} role="group" aria-label="{alt}" '
        f'style="min-height:{figure.layout.height or 300:.0f}px"></div>'
        f'<script type="application/json">{plain}</script>'
        f"<noscript><p>{alt}</p></noscript>{said}</figure>"
    )


def shown(x: float) -> str:
    """A number with as many digits as a reader wants.

    >>> shown(19.617), shown(1410.2), shown(0.3333), shown(0.0), shown(7)
    ('19.6', '1,410', '0.33', '0.0', '7')
    """
    size = abs(x)
    if isinstance(x, int) or size >= 100:
        return f"{x:,.0f}"
    return f"{x:.2f}" if 0 < size < 10 else f"{x:.1f}"


def refuse_unwritable(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is done that takes time."""
    if path.is_dir():
        raise InvalidInput(f"out = {str(path)!r} is a folder; name a file")
    if not path.parent.is_dir():
        raise InvalidInput(f"out = {str(path)!r}: there is no folder {str(path.parent)!r}")


def write(path: Path, text: str) -> None:
    """Write a page to a file.

    Raises:
        InvalidInput: it cannot be written.
    """
    refuse_unwritable(path)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"out = {str(path)!r} cannot be written: {error.strerror}") from None


def _number(cell: str | float | Cell) -> bool:
    return cell.kind == "n" if isinstance(cell, Cell) else not isinstance(cell, str)


def _cell(cell: str | float | Cell, *, first: bool) -> str:
    if isinstance(cell, Cell):
        text, kind = cell.text, cell.kind
    elif isinstance(cell, str):
        text, kind = cell, ""
    else:
        text, kind = shown(cell), "n"
    if first:
        return f'<th scope="row"{_class(kind)}>{escape(text)}</th>'
    return f"<td{_class(kind)}>{escape(text)}</td>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _data(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
