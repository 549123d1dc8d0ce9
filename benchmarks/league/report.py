"""RESULTS.md and the figures of the league."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.league.baseline import SUFFIX
from benchmarks.league.players import ENTRIES, EVERYTHING, FIXED, NOTHING, TUNER
from benchmarks.league.standings import Row, Standings
from benchmarks.league.worlds import settings
from trimtab.paper import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

RIVALS = [entry.name for entry in ENTRIES if entry.rival]
PRODUCT = (NOTHING, TUNER)  # the rows that are what users get
MARKS = {NOTHING: "o", TUNER: "s", EVERYTHING: "D"}


def write(rows: Sequence[Row], out: Path) -> Path:
    """Write the figures and RESULTS.md into a folder; where the latter is."""
    if not rows:
        raise SystemExit("no match has been played; nothing to report")
    found = all_standings(rows)
    (out / "figures").mkdir(parents=True, exist_ok=True)
    for each in found:
        path = out / "figures" / f"cost-{each.horizon}.png"
        path.write_bytes(figures.png(picture(each)))
    path = out / "RESULTS.md"
    path.write_text(text(found, rows), encoding="utf-8")
    return path


def all_standings(rows: Sequence[Row]) -> list[Standings]:
    """One for each horizon, the shortest first."""
    return [
        Standings(horizon, rows, [s.name for s in settings(horizon)])
        for horizon in sorted({row.horizon for row in rows})
    ]


def text(found: Sequence[Standings], rows: Sequence[Row]) -> str:
    """The page."""
    seeds = sorted({row.seed for row in rows})
    absent = [entry.name for entry in ENTRIES if not entry.installed()]
    lines = [
        "# The league of stability",
        "",
        "Written by `python -m benchmarks.league.run`; [README.md](README.md) says who plays,",
        "where, and by which rules. Cost = regret + move_cost x movement, as a share of what",
        "leaving the knobs alone costs in the same world with the same seeds (ratio of sums).",
        "",
        f"{len(rows):,} matches, seeds {seeds[0]} to {seeds[-1]}. Python "
        f"{platform.python_version()}."
        + (f" Not installed, so not playing: {', '.join(absent)}." if absent else ""),
        "",
    ]
    for each in found:
        lines += [f"## {each.horizon:,} rounds", "", *summary_table(each), ""]
        lines += [*_losses(each), ""]
        lines += [f"![Cost against fixed](figures/cost-{each.horizon}.png)", ""]
        lines += ["Cost against fixed, world by world:", "", *_worlds(each), ""]
    return "\n".join(lines)


def summary(rows: Sequence[Row]) -> str:
    """The summary tables alone, for a look."""
    return "\n".join(line for each in all_standings(rows) for line in summary_table(each))


def summary_table(found: Standings) -> list[str]:
    """Everybody at one horizon, the lowest cost first."""
    small = {setting.name for setting in settings(found.horizon) if setting.small}
    lines = [
        "| player | worlds | cost / fixed, geometric mean | the same, small worlds | worst world | "
        "movement | moves | runs dearer than fixed | CPU s |",
        "|---|--:|--:|--:|---|--:|--:|--:|--:|",
    ]
    for name in sorted((n for n in found.players if found.worlds_of(n)), key=found.mean):
        world, worst = found.worst(name)
        there = [w for w in found.worlds_of(name) if w in small]
        lines.append(
            f"| {'**' + name + '**' if name in PRODUCT else name} | "
            f"{len(found.worlds_of(name))} | {found.mean(name):.3f} | "
            f"{found.mean(name, there) if there else float('nan'):.3f} | {worst:.2f} ({world}) | "
            f"{found.median(name, 'movement'):.1f} | {found.median(name, 'moves'):.0f} | "
            f"{found.dearer(name):.0%} | {found.median(name, 'seconds'):.1f} |"
        )
    return lines


def _losses(found: Standings) -> list[str]:
    """Where the product loses, and where that of the baseline did, in plain words."""
    lines = []
    rows = (*PRODUCT, *(name + SUFFIX for name in PRODUCT))
    for name in (n for n in rows if found.worlds_of(n)):
        worlds = found.worlds_of(name)
        worse = [w for w in worlds if found.ratio(w, name) > 1.0]
        each = "; ".join(f"{w}: {found.ratio(w, name):.2f}" for w in worse)
        lines.append(
            f"- *{name}* costs more than leaving the knobs alone in {len(worse)} of {len(worlds)} "
            f"worlds{f' ({each})' if worse else ''}."
        )
        beaten = []
        for world in worlds:
            rival = found.best(world, RIVALS)
            if rival and found.ratio(world, name) > found.ratio(world, rival):
                beaten.append(f"{world}: {rival}, {found.difference(world, name, rival)}")
        lines.append(
            f"- A rival is cheaper than *{name}* in {len(beaten)} of {len(worlds)} worlds"
            + (
                f" (the best one, and how many times its cost, 95 %: {'; '.join(beaten)})."
                if beaten
                else "."
            )
        )
    return lines


def _worlds(found: Standings) -> list[str]:
    names = sorted((n for n in found.players if n != FIXED and found.worlds_of(n)), key=found.mean)
    lines = [f"| world | {' | '.join(names)} |", "|---|" + "--:|" * len(names)]
    for world in found.worlds_of(FIXED):
        cells = [
            f"{found.ratio(world, name):.2f}" if world in found.worlds_of(name) else ""
            for name in names
        ]
        lines.append(f"| {world} | {' | '.join(cells)} |")
    return lines


def picture(found: Standings) -> Canvas:
    """Every player's cost against fixed, world by world."""
    worlds = found.worlds_of(FIXED)
    canvas, (axes,) = figures.panels(1, columns=1, size=(10.0, 0.34 * len(worlds) + 1.6))
    axes.axvline(1.0, color=figures.GREY, linewidth=1.5)
    for name in found.players:
        points = [
            (found.ratio(world, name), len(worlds) - 1 - row)
            for row, world in enumerate(worlds)
            if name != FIXED and world in found.worlds_of(name)
        ]
        if points:
            x, y = zip(*points, strict=True)
            old = name.endswith(SUFFIX)
            ours = name.removesuffix(SUFFIX) in MARKS
            axes.scatter(
                x,
                y,
                marker=MARKS.get(name.removesuffix(SUFFIX), "x"),
                s=46 if ours else 22,
                facecolors="none" if ours and (old or name == EVERYTHING) else None,
                color=figures.BLUE if ours else figures.ORANGE,
                linewidths=1.2,
                label=name if ours else None,
                zorder=4 if ours else 3,
            )
    axes.scatter([], [], marker="x", color=figures.ORANGE, label="rivals")
    axes.set_xscale("log")
    axes.set_yticks(range(len(worlds)), list(reversed(worlds)))
    low, high = axes.get_xlim()
    ticks = [x for x in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10) if low <= x <= high]
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
    axes.minorticks_off()
    title = f"{found.horizon:,} rounds: right of the line, dearer than leaving the knobs alone"
    figures.head(axes, title, x="cost / fixed (log)", y="")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)
    return canvas
