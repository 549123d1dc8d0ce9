"""The report of a proving: a table, what the machine did meanwhile, and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.league.plans import planned
from benchmarks.proving.arms import ENTRIES, FIXED, LATE
from benchmarks.proving.picture import picture
from benchmarks.proving.scores import LAST, Score, complete, machine, scores, totals
from benchmarks.proving.windows import Window
from trimtab.errors import InvalidInput
from trimtab.live import Spec

SOON = 100  # windows after a change


def written(
    windows: Sequence[Window],
    spec: Spec,
    folder: Path,
    *,
    change: int | None = None,
    alarms: Sequence[str] = (),
) -> str:
    """The report as text; the folder then has it and a picture.

    Args:
        windows: all that was played.
        spec: of the system.
        folder: for the files.
        change: the window after which the workload was another one.
        alarms: what is to be said of the tuner's.

    Raises:
        InvalidInput: too little was played for a report.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = report(windows, spec)
    if change is not None:
        text += "\n" + after(windows, change) + "".join(f"\n- {line}" for line in alarms) + "\n"
    (folder / "report.md").write_text(text)
    (folder / "windows.png").write_bytes(picture(windows, spec))
    return text


def report(windows: Sequence[Window], spec: Spec) -> str:
    """The table and the sentences, as Markdown.

    Raises:
        InvalidInput: no run has three windows of every arm, the fixed one among them.
    """
    runs = {
        run: arms
        for run, arms in complete(windows).items()
        if FIXED in arms and len(arms[FIXED]) >= 3
    }
    if not runs:
        raise InvalidInput("no run has three windows of every arm and of the fixed one; play more")
    by_run = {run: scores(arms, spec) for run, arms in runs.items()}
    lengths = [len(arms[FIXED]) for arms in runs.values()]
    long = f"{min(lengths)}" if len(set(lengths)) == 1 else f"{min(lengths)} to {max(lengths)}"
    seconds = np.mean([w.seconds for w in windows])
    told = (
        f"{len(runs)} run{'s' * (len(runs) > 1)} of {long} windows for every arm; a window took "
        f"{seconds:.2g} s. Total is loss plus price of moves, as a share of the fixed arm's in the "
        f"same windows. Other columns are means over the runs; loss and price are per window."
    )
    horizon = max(w.planned for w in windows)
    searching = [arm for arm in runs[min(runs)] if arm in ENTRIES and ENTRIES[arm].rival]
    if searching:
        plans = ", ".join(f"{arm} {planned(arm, horizon)}" for arm in searching)
        told += f" Rivals search, then stay with their best; share x windows of a trial: {plans}."
    missing = sum(score.missing for arms in by_run.values() for score in arms.values())
    if missing:
        told += f" {missing} windows lacked a metric and count as the one before them."
    drift = "\n".join(f"- {_machine_sentence(run, arms[FIXED])}" for run, arms in runs.items())
    heads = f"# {spec.name}, tuned\n\n{told}\n\n{table(by_run)}\n"
    return f"{heads}\nWhat the machine did, seen in the fixed arm:\n\n{drift}\n"


def after(windows: Sequence[Window], change: int) -> str:
    """What the arms cost a window before and after a change of the workload."""
    parts = {
        f"up to window {change}": slice(0, change),
        f"the next {SOON}": slice(change, change + SOON),
        "after that": slice(change + SOON, None),
    }
    runs = list(complete(windows).values())
    which = list(parts.values())
    lines = [_row(["arm", *parts]), "|---|" + "--:|" * len(parts)]
    for arm in runs[0]:
        costs = [np.concatenate([totals(run[arm])[part] for run in runs]) for part in which]
        lines.append(_row([arm, *(f"{x.mean():.3f}" if x.size else "" for x in costs)]))
    return (
        f"After window {change} the workload was another one. Loss and price of a window, means "
        "over the runs:\n\n" + "\n".join(lines) + "\n"
    )


def table(by_run: dict[int, dict[str, Score]]) -> str:
    """The scores as a Markdown table, a row per arm."""
    arms = list(dict.fromkeys(arm for run in by_run.values() for arm in run))
    of = {arm: [run[arm] for run in by_run.values() if arm in run] for arm in arms}
    share = {arm: float(np.mean([score.share for score in of[arm]])) for arm in arms}
    ours = {LATE, *(name for name, entry in ENTRIES.items() if not entry.rival)}
    rivals = [share[arm] for arm in arms if arm not in ours]
    heads = ["arm", *(f"total / fixed, run {run}" for run in by_run), "mean", "/ best rival"]
    heads += ["loss", "price", "knob changes", "moves", "guardrail broken"]
    heads += [f"loss, last {LAST}", "helps from window"]
    lines = [_row(heads), "|---|" + "--:|" * (len(heads) - 1)]
    for arm in arms:
        cells = [arm, *(f"{run[arm].share:.3f}" if arm in run else "" for run in by_run.values())]
        cells += [f"{share[arm]:.3f}", f"{share[arm] / min(rivals):.2f}" if rivals else ""]
        for name, digits in (("loss", 3), ("price", 4), ("changes", 0), ("moves", 0)):
            cells.append(f"{np.mean([getattr(score, name) for score in of[arm]]):.{digits}f}")
        cells.append(f"{np.mean([score.breaches for score in of[arm]]):.1f}")
        cells.append(f"{np.mean([score.last for score in of[arm]]):.3f}")
        helps = ["never" if s.helps_from is None else str(s.helps_from) for s in of[arm]]
        cells.append("" if arm == FIXED else ", ".join(helps))
        lines.append(_row(cells))
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _machine_sentence(run: int, played: Sequence[Window]) -> str:
    seen = machine(played)
    first, second, third = seen.thirds
    return (
        f"Run {run}: the largest window had {seen.largest:.2f} times the median loss; "
        f"{seen.above:.1%} of the windows were more than three robust standard deviations above "
        f"the median; the medians of the run's thirds were {first:.2f}, {second:.2f} and "
        f"{third:.2f} of the whole run's."
    )
