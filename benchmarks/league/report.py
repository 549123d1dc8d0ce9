"""RESULTS.md and the figures of the league."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.league.players import ENTRIES
from benchmarks.league.run import Run, jobs
from benchmarks.league.standings import MAIN, Table, tables
from benchmarks.league.worlds import settings
from trimtab.paper import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

PROVEN = f"{MAIN}, proven radius"
RIVAL_MARKS = "XsD^v<>Ph"
OURS = {entry.name for entry in ENTRIES if entry.ours}
UNCOMMON = tuple(e.name for e in ENTRIES if e.ours and e.slow)  # only in the tables
CUT = 8.0  # where bars end
SHOWN = ("recommender", "drift")  # the worlds whose cost is drawn over time
RIVALS = 3  # the best of them are drawn there
HEADS = ("total", "regret", "price", "moves", "movement", "final")


def write(runs: Sequence[Run], out: Path) -> Path:
    """Write the figures and RESULTS.md into a folder; where the latter is."""
    if not runs:
        raise SystemExit("no match has been played; nothing to report")
    found = tables(runs, settings(runs[0].job.horizon))
    if not found:
        raise SystemExit(f"{MAIN} and another player have met in no world; nothing to report")
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {"relative": relative(found), "parts": parts(found)}
    if shown := [table for table in found if table.setting.name in SHOWN]:
        drawn["time"] = over_time(shown)
    for name, canvas in drawn.items():
        (folder / f"{name}.png").write_bytes(figures.png(canvas))
    path = out / "RESULTS.md"
    path.write_text(text(found, runs), encoding="utf-8")
    return path


def text(found: Sequence[Table], runs: Sequence[Run]) -> str:
    """The page."""
    horizon = runs[0].job.horizon
    seeds = sorted({run.job.seed for run in runs})
    absent = [entry.name for entry in ENTRIES if not entry.installed()]
    played = {astuple(run.job) for run in runs}  # the command's own Job is another class
    unplayed = Counter(j.player for j in jobs(horizon, len(seeds)) if astuple(j) not in played)
    lines = [
        "# The league of stability",
        "",
        "Written by `python -m benchmarks.league.run`; [README.md](README.md) says who plays,",
        "where, and by which rules. Total cost = regret + move_cost x movement: the loss above",
        "that of the best state, noise left out, and the price of the path.",
        "",
        f"{horizon:,} rounds, seeds {seeds[0]} to {seeds[-1]}, {len(runs):,} matches. "
        f"{_versions()}."
        + (f" Not installed, so not playing: {', '.join(absent)}." if absent else "")
        + (f" Matches left out: {_counts(unplayed)}." if unplayed else ""),
        "",
        "## Does Steady keep its promise?",
        "",
        "Promised: the lowest total cost where the model's assumptions hold and moves cost",
        "something; within 10 % of the best elsewhere. `Best other` includes our own Algorithm 1,",
        "Async and LinUCB, which have the same radius; `best rival` does not. Verdicts compare",
        "sums over the common seeds; ratios are means over seeds, with 95 % intervals.",
        "",
        "| world | assumptions | Steady | best other | ratio | best rival | ratio | kept |",
        "|---|---|--:|---|--:|---|--:|---|",
    ]
    for table in found:
        rivals = [name for name in table.others if name not in OURS]
        cells = [
            f"{name}: {table.mean(name, 'total')} | {table.ratio(MAIN, name)}"
            for name in (table.others[0], *rivals[:1])
        ]
        lines.append(
            f"| {table.setting.name} | {table.setting.why or 'hold'} | "
            f"{table.mean(MAIN, 'total')} | {' | '.join([*cells, ' | '][:2])} | "
            f"{'yes' if table.kept else '**no**'} |"
        )
    lines += ["", *_broken(found), "", "![Total cost of every player](figures/relative.png)", ""]
    lines += [f"The same by its parts; bars are cut off at {CUT:g}.", ""]
    lines += ["![Regret and price](figures/parts.png)", ""]
    if any(table.setting.name in SHOWN for table in found):
        lines += ["Over time, mean of the seeds:", "", "![Cost over time](figures/time.png)", ""]
    lines += ["## Ranks", "", *_ranks(found)]
    for table in found:
        lines += ["", f"## {table.setting.name}", "", *_table(table)]
    return "\n".join(lines) + "\n"


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{count} of {name}" for name, count in counter.items())


def _broken(found: Sequence[Table]) -> list[str]:
    """Where the promise is not kept, and by how much."""
    broken = [table for table in found if not table.kept]
    if not broken:
        return ["The promise is kept in every world."]
    lines = [f"Not kept in {len(broken)} of {len(found)} worlds:", ""]
    for table in broken:
        best = table.others[0]
        ratio = table.ratio(MAIN, best)
        parts = (
            f"{what} {table.mean(MAIN, what).mean:,.1f} against {table.mean(best, what).mean:,.1f}"
            for what in ("regret", "price")
        )
        sure = ratio.mean - ratio.half > 1.0  # not with one seed, whose interval is NaN
        lines.append(
            f"- {table.setting.name}: {ratio} times the cost of {best} ({', '.join(parts)})"
            + ("." if sure else "; so few seeds do not exclude a draw.")
        )
    return lines


def _ranks(found: Sequence[Table]) -> list[str]:
    """Rank of every player in every world, by mean total; best mean rank first."""
    names = [entry.name for entry in ENTRIES if any(entry.name in t.scores for t in found)]
    mean = {n: np.mean([t.rank(n) for t in found if n in t.scores]) for n in names}
    lines = [
        "Ranks among those who played, ours included; slow players take part in small worlds only.",
        "",
        "| player | mean rank | worlds | " + " | ".join(t.setting.name for t in found) + " |",
        "|---|--:|--:|" + "--:|" * len(found),
    ]
    for name in sorted(names, key=lambda n: mean[n]):
        cells = [str(t.rank(name)) if name in t.scores else "" for t in found]
        lines.append(
            f"| {name} | {mean[name]:.1f} | {sum(map(bool, cells))} | {' | '.join(cells)} |"
        )
    return lines


def _table(table: Table) -> list[str]:
    lines = [
        "| player | seeds | " + " | ".join(HEADS) + " | of Steady's total |",
        "|---|--:|" + "--:|" * (len(HEADS) + 1),
    ]
    for name in table.players:
        cells = [str(table.mean(name, what)) for what in HEADS]
        ratio = "1" if name == MAIN else str(table.ratio(name, MAIN))
        lines.append(f"| {name} | {len(table.scores[name])} | {' | '.join(cells)} | {ratio} |")
    return lines


def markers() -> dict[str, str]:
    """A mark for everybody but Steady, our own first."""
    ours = [e.name for e in ENTRIES if e.ours and e.name != MAIN]
    rivals = [e.name for e in ENTRIES if not e.ours]
    return dict(zip(ours, "o*vds^P", strict=True)) | dict(zip(rivals, RIVAL_MARKS, strict=False))


def relative(found: Sequence[Table]) -> Canvas:
    """Every player's total as a multiple of Steady's, world by world."""
    canvas, (axes,) = figures.panels(1, columns=1, size=(9.4, 0.42 * len(found) + 1.9))
    axes.axvline(1.0, color=figures.BLUE, linewidth=2.2)
    for name, marker in markers().items():
        points = [
            (table.relative(name), len(found) - 1 - row)
            for row, table in enumerate(found)
            if name in table.scores
        ]
        if points:
            x, y = zip(*points, strict=True)
            mine = name in OURS
            axes.scatter(
                x,
                y,
                marker=marker,
                s=42,
                facecolors=figures.BLUE if name == PROVEN else "none" if mine else figures.ORANGE,
                edgecolors=figures.BLUE if mine else "white",
                linewidths=1.3 if mine else 0.5,
                label=name,
                zorder=3,
            )
    axes.set_xscale("log")
    axes.set_yticks(range(len(found)), [t.setting.name for t in reversed(found)])
    low, high = axes.get_xlim()
    ticks = [x for x in (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200) if low <= x <= high]
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
    axes.minorticks_off()
    figures.head(
        axes, "Right of the line: dearer than Steady", x="total cost / Steady's (log)", y=""
    )
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)
    return canvas


def parts(found: Sequence[Table]) -> Canvas:
    """Regret and price of everybody, world by world, as a multiple of Steady's total."""
    canvas, panels = figures.panels(len(found), columns=3, size=(4.3, 3.4))
    for axes, table in zip(panels, found, strict=True):
        names = [name for name in table.players if name not in UNCOMMON]
        unit = table.mean(MAIN, "total").mean
        regret = np.array([table.mean(name, "regret").mean for name in names]) / unit
        price = np.array([table.mean(name, "price").mean for name in names]) / unit
        rows = np.arange(len(names))[::-1]
        axes.barh(rows, regret, color=figures.BLUE, label="regret")
        axes.barh(rows, price, left=regret, color=figures.ORANGE, label="price of moving")
        axes.set_yticks(rows, names, fontsize=8)
        for label, name in zip(axes.get_yticklabels(), names, strict=True):
            label.set_fontweight("bold" if name == MAIN else "normal")
        edge = min(float((regret + price).max()), CUT)
        axes.set_xlim(0.0, 1.05 * edge)
        axes.grid(visible=False, axis="y")
        axes.set_axisbelow(True)
        figures.head(axes, table.setting.name, x="total cost / Steady's", y="")
    canvas.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return canvas


def over_time(found: Sequence[Table]) -> Canvas:
    """The total so far of ours and of the best rivals, in some worlds."""
    canvas, panels = figures.panels(len(found), columns=2, size=(6.2, 4.0))
    colours = {MAIN: figures.BLUE, PROVEN: figures.BLUE, "Algorithm 1": figures.GREEN}
    for axes, table in zip(panels, found, strict=True):
        best = [name for name in table.players if name not in OURS][:RIVALS]
        ends = []
        for name in (*(name for name in colours if name in table.scores), *best):
            curve = np.mean([score.curve for score in table.scores[name].values()], axis=0)
            rounds = table.horizon * np.arange(curve.size + 1) / curve.size
            colour = colours.get(name, figures.ORANGE)
            dash = {PROVEN: "--"}.get(
                name, "-" if name in OURS else ("-.", ":", "-")[best.index(name)]
            )
            axes.plot(
                rounds, [0.0, *curve], dash, color=colour, linewidth=2.4 if name == MAIN else 1.5
            )
            ends.append((float(rounds[-1]), float(curve[-1]), name, colour))
        axes.set_ylim(bottom=0.0)
        figures.label_ends(axes, ends)
        figures.head(axes, table.setting.name, x="round", y="total cost so far")
    return canvas


def _versions() -> str:
    needed = dict.fromkeys(name for entry in ENTRIES if entry.installed() for name in entry.needs)
    packages = ", ".join(f"{name} {version(name)}" for name in ("trimtab", "numpy", *needed))
    return f"Python {platform.python_version()}, {packages}"
