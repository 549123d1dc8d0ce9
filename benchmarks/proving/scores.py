"""What the arms of a run cost, from raw windows alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.proving.arms import ENTRIES, FIXED
from benchmarks.proving.windows import Window
from trimtab.arrays import Array, Bools
from trimtab.live import Spec

LAST = 50  # windows over which the final loss is averaged


@dataclass(frozen=True, kw_only=True)
class Score:
    """What one arm cost in one run; per window where nothing else is said."""

    loss: float
    price: float
    share: float  # of the fixed arm's total in the same windows
    changes: int  # of single knobs, in all
    moves: int  # windows before which something was changed
    breaches: int  # windows that broke a guardrail
    missing: int  # windows without some objective
    last: float  # loss over the last windows
    helps_from: int | None  # window from which on the running total stays below the fixed arm's

    @property
    def total(self) -> float:
        """Loss and price."""
        return self.loss + self.price


def complete(windows: Sequence[Window]) -> dict[int, dict[str, list[Window]]]:
    """Windows by run and arm, in order, up to the last one that all arms have played."""
    arms = {window.arm for window in windows}
    order = [*(arm for arm in ENTRIES if arm in arms), *sorted(arms - set(ENTRIES))]
    runs: dict[int, dict[str, list[Window]]] = {}
    for window in sorted(windows, key=lambda w: (w.run, order.index(w.arm), w.number)):
        runs.setdefault(window.run, {}).setdefault(window.arm, []).append(window)
    for run in runs.values():
        shortest = min(len(played) for played in run.values())
        for arm in run:
            run[arm] = run[arm][:shortest]
    return runs


def losses(played: Sequence[Window]) -> Array:
    """The loss of every window of an arm; one that is missing counts as the one before it.

    At the beginning, where there is none before, it counts as the first known.
    """
    loss = np.array([window.loss for window in played])
    known = np.flatnonzero(~np.isnan(loss))
    if not known.size:
        return loss
    before = np.searchsorted(known, np.arange(loss.size), side="right") - 1
    return np.asarray(loss[known[np.maximum(before, 0)]])


def totals(played: Sequence[Window]) -> Array:
    """Loss and price of every window of an arm."""
    return np.asarray(losses(played) + [window.price for window in played])


def scores(arms: dict[str, list[Window]], spec: Spec) -> dict[str, Score]:
    """The scores of a run by arm; the run needs a fixed arm."""
    reference = totals(arms[FIXED])
    return {arm: _score(played, reference, spec) for arm, played in arms.items()}


def _score(played: Sequence[Window], reference: Array, spec: Spec) -> Score:
    loss, total = losses(played), totals(played)
    path = [spec.values(spec.start), *(window.values for window in played)]
    changed = np.diff([[values[knob.name] for knob in spec.knobs] for values in path], axis=0) != 0
    return Score(
        loss=float(loss.mean()),
        price=float((total - loss).mean()),
        share=float(total.sum() / reference.sum()),
        changes=int(changed.sum()),
        moves=int(changed.any(axis=1).sum()),
        breaches=sum(window.broken for window in played),
        missing=int(np.isnan([window.loss for window in played]).sum()),
        last=float(loss[-LAST:].mean()),
        helps_from=_for_good(np.cumsum(total) < np.cumsum(reference)),
    )


def _for_good(below: Bools) -> int | None:
    """The number of the first window from which on all are true; None if the last is not."""
    if not below[-1]:
        return None
    above = np.flatnonzero(~below)
    return int(above[-1]) + 2 if above.size else 1


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the fixed arm says about the machine: its knobs stand still, so all else is the machine.

    A robust standard deviation is 1.4826 times the median distance from the median.
    """

    largest: float  # window, over the median
    above: float  # share of windows more than three robust standard deviations above the median
    thirds: tuple[float, float, float]  # medians of the run's thirds, over the median


def machine(played: Sequence[Window]) -> Machine:
    """Spikes and drift in the windows of the fixed arm."""
    loss = losses(played)
    middle = float(np.median(loss))
    spread = 1.4826 * float(np.median(np.abs(loss - middle)))
    first, second, third = (float(np.median(p)) / middle for p in np.array_split(loss, 3))
    return Machine(
        largest=float(loss.max()) / middle,
        above=float((loss > middle + 3.0 * spread).mean()),
        thirds=(first, second, third),
    )
