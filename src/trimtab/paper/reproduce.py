"""`trimtab reproduce`: play experiments of the paper, and write what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from trimtab.errors import InvalidInput
from trimtab.paper import figures
from trimtab.paper.report import to_html
from trimtab.paper.results import to_json
from trimtab.paper.verdict import Judged
from trimtab.parallel.pool import Pool
from trimtab.parallel.progress import progress_bar
from trimtab.plot.page import shown

_HOME = {
    "single-clique": "trimtab.paper.single_clique",
    "heterogeneous": "trimtab.paper.heterogeneous",
    "adult": "trimtab.paper.adult",
    "fairness": "trimtab.paper.fairness",
}


def _exists(module: str) -> bool:
    spec = find_spec(module)
    return spec is not None and spec.origin is not None  # a bare folder has none


EXPERIMENTS = tuple(name for name, module in _HOME.items() if _exists(module))
STYLES = {"reproduces": "green", "under other settings": "yellow", "does not": "red"}


def run(name: str, *, out: Path, seed: int, runs: int | None, workers: int) -> None:
    """Play one experiment, or "all"; write report, figures and numbers, and print the verdicts."""
    if name != "all" and name not in EXPERIMENTS:
        known = ", ".join((*EXPERIMENTS, "all"))
        raise InvalidInput(f"experiment = {name!r}; choose one of {known}")
    if out.exists() and not out.is_dir():
        raise InvalidInput(f"out = {str(out)!r} is a file; name a folder")
    figures.require()
    with Pool(workers) as pool:
        results = [
            play(each, seed=seed, runs=runs, pool=pool)
            for each in (EXPERIMENTS if name == "all" else (name,))
        ]
    report = write(results, out=out, seed=seed)
    console = Console()
    for result in results:
        if result.comparisons:
            console.print(_table(result))
    console.print(f"Report: {report}", soft_wrap=True, highlight=False)


def play(name: str, *, seed: int, runs: int | None, pool: Pool) -> Judged:
    """What comes of an experiment, with as many runs per setting as asked for, or its own."""
    module: Any = import_module(_HOME[name])
    settings = module.Settings()
    if runs is not None:
        settings = replace(settings, runs=runs)
    with progress_bar(name) as progress:
        result: Judged = module.run(settings, seed=seed, pool=pool, progress=progress)
    return result


def write(results: Sequence[Judged], *, out: Path, seed: int) -> Path:
    """Write `results.json`, `figures/` and `report.html` into a folder; where the report is."""
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(to_json(results, seed=seed), encoding="utf-8")
    drawn = {}
    for figure in (figure for result in results for figure in result.figures):
        canvas = figure.draw(2)
        drawn[figure.name] = figures.svg(canvas)
        (folder / f"{figure.name}.svg").write_bytes(drawn[figure.name])
        (folder / f"{figure.name}.png").write_bytes(figures.png(canvas))
    report = out / "report.html"
    report.write_text(to_html(results, seed=seed, drawn=drawn), encoding="utf-8")
    return report


def _table(result: Judged) -> Table:
    table = Table(title=result.title, title_justify="left")
    for heading in ("quantity", "published", "ours", "setting", "verdict"):
        justify: Any = "right" if heading in ("published", "ours") else "left"
        table.add_column(heading, justify=justify, overflow="fold")
    for each in result.comparisons:
        verdict = result.verdicts[each.published.name]
        table.add_row(
            each.published.quantity,
            each.published.printed,
            shown(verdict.decisive.mean),
            verdict.decisive.setting,
            f"[{STYLES[verdict.kind]}]{verdict.kind}[/]",
        )
    return table
