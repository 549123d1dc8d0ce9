"""The report of a reproduction: one HTML file with every figure in it."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from trimtab.paper.experiment import Figure, Setting
from trimtab.paper.figures import svg
from trimtab.paper.verdict import RULE, Judged, Kind, Verdict
from trimtab.plot import page
from trimtab.plot.page import Cell

COLOURS: dict[Kind, str] = {"reproduces": "good", "under other settings": "fair", "does not": "bad"}
PACKAGES = ("trimtab", "numpy", "scipy", "matplotlib", "scikit-learn")


def to_html(results: Sequence[Judged], *, seed: int, drawn: Mapping[str, bytes]) -> str:
    """The page. `drawn` are the figures as SVG, by name, that stand side by side."""
    sections = [page.Section("summary", "Summary", _summary(results))]
    sections += [
        page.Section(result.name, result.title, _section(result, drawn)) for result in results
    ]
    return page.page(
        title="The paper's experiments, played again",
        lead=(
            "Cortes, Mansour, Mohri, “Beyond Binary: Continuous State Optimization with "
            "Graph-Structured Objectives”: the numbers it prints beside those of our runs, and "
            "whether they agree."
        ),
        sections=sections,
        foot=_provenance(seed),
    )


def _summary(results: Sequence[Judged]) -> str:
    counts: list[list[str | float | Cell]] = []
    for result in results:
        if result.verdicts:
            kinds = [verdict.kind for verdict in result.verdicts.values()]
            counts.append([result.title, *(kinds.count(kind) for kind in COLOURS)])
    columns = ["experiment", "reproduce", "under other settings", "do not"]
    tally = page.table("Published numbers by verdict", columns, counts) if counts else ""
    return tally + page.heading("The rule") + page.paragraph(RULE)


def _section(result: Judged, drawn: Mapping[str, bytes]) -> str:
    body = page.emphasised(result.conclusion) + page.paragraph(result.question)
    body += page.heading("Settings") + _settings(result.settings)
    body += "".join(_figure(figure, drawn[figure.name]) for figure in result.figures)
    if result.comparisons:
        body += page.heading("Published and ours") + _comparisons(result)
    for table in result.tables:
        title = f"{table.title} ({table.where})" if table.where else table.title
        body += page.table(title, table.columns, table.rows)
    return body + page.heading("What differs, and why") + page.bullets(result.remarks)


def _settings(settings: Sequence[Setting]) -> str:
    """What all settings share in a sentence; what they differ in, if there are two, in a table."""
    names = list(dict.fromkeys(name for setting in settings for name in setting.facts))
    seen = {name: {setting.facts.get(name) for setting in settings} for name in names}
    shared = {name: seen[name].pop() for name in names if len(seen[name]) == 1}
    own = [name for name in names if name not in shared]
    text = "; ".join(f"{name} {_fact(value)}" for name, value in shared.items())
    if len(settings) == 1:
        return page.paragraph(f"There is one: {text}.")
    rows = [
        [
            setting.name,
            "yes" if setting.stated else "no",
            *(_fact(setting.facts.get(name, "")) for name in own),
        ]
        for setting in settings
    ]
    columns = ["setting", "agrees with the text", *own]
    return page.paragraph(f"In all of them: {text}.") + page.table("What varies", columns, rows)


def _fact(value: object) -> str:
    return ", ".join(f"{x:g}" for x in value) if isinstance(value, tuple) else str(value)


def _figure(figure: Figure, wide: bytes) -> str:
    where = f" Beside the paper's {figure.where}." if figure.where else ""
    return page.figure(
        wide=wide,
        narrow=svg(figure.draw(1)),
        alt=figure.alt,
        caption=f"{figure.title}. {figure.caption}{where}",
    )


def _comparisons(result: Judged) -> str:
    found = result.verdicts
    rows = [
        [
            each.published.quantity,
            Cell(each.published.printed, "n"),
            *_ours(found[each.published.name]),
            Cell(each.published.where, "short"),
        ]
        for each in result.comparisons
    ]
    columns = ["quantity", "published", "ours", "verdict", "95 %", "setting", "where"]
    note = (
        f"All numbers that the paper prints hold at once in: {'; '.join(result.together)}."
        if result.together
        else "In no setting do all numbers that the paper prints hold at once."
    )
    every: list[list[str | float | Cell]] = [
        [each.published.quantity, one.setting, one.mean, one.sd, one.low, one.high, one.runs]
        for each in result.comparisons
        for one in found[each.published.name].intervals
    ]
    heads = ["quantity", "setting", "mean", "sd of a run", "from", "to", "runs"]
    why = [
        f"{each.published.quantity}: {_first_small(found[each.published.name].why)}"
        for each in result.comparisons
    ]
    return (
        page.table("Published numbers, ours, and the verdicts", columns, rows)
        + page.paragraph(note)
        + page.bullets(why)
        + page.folded(
            "Our numbers in every setting (also in results.json)",
            page.table("Our numbers in every setting", heads, every),
        )
    )


def _first_small(text: str) -> str:
    return text[0].lower() + text[1:]


def _ours(verdict: Verdict) -> list[str | float | Cell]:
    ours = verdict.decisive
    return [
        ours.mean,
        Cell(verdict.kind, COLOURS[verdict.kind]),
        Cell(f"{page.shown(ours.low)} to {page.shown(ours.high)}", "n"),
        Cell(ours.setting, "short"),
    ]


def _provenance(seed: int) -> str:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} absent")
    return f"Seed {seed}. Python {platform.python_version()}, {', '.join(found)}."
