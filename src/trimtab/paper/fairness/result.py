"""The fairness study's result, as the report wants it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.experiment import Comparison, Figure, Setting, Table
from trimtab.paper.fairness import plot
from trimtab.paper.fairness.groups import KINDS, group_names
from trimtab.paper.fairness.peer import Peer
from trimtab.paper.fairness.pilot import Pilot
from trimtab.paper.fairness.play import GRAPHS, FairnessRun, Knowledge, Settings
from trimtab.paper.verdict import Judged
from trimtab.sim.worlds.fairness import BestFixed

STEADY, EAGER = "SteadyGraphLinUCB", "LinUCB"
LATE, LESS = 0.05, 1 / 3  # what is asked for: late regret as a share of the way, and movement
BY = {"age": "age", "hours": "weekly hours", "race": "race"}
RATES = {
    "tpr": "true positive rates",
    "fpr": "false positive rates",
    "selection": "selection rates",
}


@dataclass(frozen=True, kw_only=True)
class FairnessStudy(Judged):
    """What came of the study. Losses are expected, of a round, in total over all criteria."""

    spec: Settings
    pilots: list[Pilot]
    sparse_pilot: Pilot  # of the shape chosen, on the graph that is too sparse
    knowledge: Knowledge
    start: Array  # (m,) losses at the start
    best: BestFixed
    best_losses: Array  # (m,)
    peer: Peer
    runs: list[FairnessRun]

    name = "fairness"
    title = "Adult: a threshold per group, errors and gaps"

    @property
    def question(self) -> str:
        """What is studied."""
        s = self.spec
        k, m = len(self.best.state), self.start.size
        gap, kinds = f"{'squared' if s.power == 2 else 'absolute'} gaps", "; ".join(KINDS[s.by])
        return (
            f"Beyond the paper: {k} groups, the two sexes by {BY[s.by]} ({kinds}), "
            f"and a threshold each; {k} error rates, which read one knob, and {m - k} {gap} "
            f"between the {RATES[s.gap]} of linked groups, which read two. In each of "
            f"{s.rounds:,} rounds {s.batch:,} people of the {self.split} split are drawn with "
            "replacement and judged. The start threshold is the paper's, groups, links and range "
            "are ours. The units of the knobs, the basis and the sizes of noise and parameters "
            "come from a pilot on the training split, before the first round."
        )

    @property
    def conclusion(self) -> str:
        """Whether Steady does what is asked for, in one sentence."""
        late, ratio = self.late.max(), self.movement_ratio.max()
        verb = "does" if self.holds else "does not do"
        return (
            f"Steady {verb} what is asked for: its late regret is at most {late:.1%} of what there "
            f"is to gain ({LATE:.0%} asked), with at most {ratio:.1%} of standard LinUCB's "
            f"movement ({LESS:.0%} asked)."
        )

    @property
    def split(self) -> str:
        """In which part of the data policies were played."""
        return "training" if self.spec.training else "test"

    @property
    def way(self) -> float:
        """What there is to gain: the start loss minus that of the best fixed thresholds."""
        return float(self.start.sum()) - self.best.loss

    def of(self, policy: str, graph: str = "known") -> list[FairnessRun]:
        """The runs of a policy on a graph."""
        return [run for run in self.runs if (run.policy, run.scopes) == (policy, graph)]

    @property
    def late(self) -> Array:
        """Steady's regret per round over the last fifth, as a share of the way: (runs,)."""
        return np.array([run.late for run in self.of(STEADY)]) / self.way

    @property
    def movement_ratio(self) -> Array:
        """Steady's movement in all rounds over the least of standard LinUCB's: (runs,).

        Standard LinUCB's runs are shorter. Movement only grows, so that over the same rounds the
        ratio would be smaller still.
        """
        return np.array([run.movement[-1] for run in self.of(STEADY)]) / self._eager

    @property
    def early_ratio(self) -> Array:
        """The same for the rounds that standard LinUCB was given: (runs,)."""
        return np.array([run.early for run in self.of(STEADY)]) / self._eager

    @property
    def _eager(self) -> float:
        return min(run.early for run in self.of(EAGER))

    @property
    def holds(self) -> bool:
        """Whether every run of Steady does what is asked for."""
        return bool((self.late <= LATE).all() and (self.movement_ratio <= LESS).all())

    @property
    def settings(self) -> list[Setting]:
        """The one configuration that is played."""
        s = self.spec
        shape = self.knowledge.shape
        return [
            Setting(
                name="thresholds per group",
                stated=False,
                facts={
                    "groups": f"two sexes by {BY[s.by]}",
                    "units": f"log-odds, {s.low:g} to {s.high:g}"
                    if shape.units == "logit"
                    else "scores",
                    "basis": shape.basis,
                    "batch": s.batch,
                    "rounds": s.rounds,
                    "rounds of LinUCB": s.eager_rounds,
                    "start": s.start,
                    "move_cost": s.move_cost,
                    "runs of Steady": s.runs,
                    "runs of the others": s.others,
                },
            )
        ]

    @property
    def comparisons(self) -> list[Comparison]:
        """None: the paper has nothing of the kind."""
        return []

    @property
    def tables(self) -> list[Table]:
        """Which basis is adequate, where policies end, wrong graphs, and thresholds."""
        return [self._bases(), self._policies(), self._graphs(), self._thresholds()]

    def _bases(self) -> Table:
        k = len(self.best.state)
        rows = [
            (
                f"{each.shape.basis} in {'log-odds' if each.shape.units == 'logit' else 'scores'}",
                each.features,
                int(each.rejected[:k].sum()),
                int(each.rejected[k:].sum()),
                float(each.statistic.max()),
                float(each.critical.min()),
                "yes" if each.adequate else "no",
            )
            for each in self.pilots
        ]
        return Table(
            name="bases",
            title="Which basis is adequate, by the lack-of-fit test of the pilot",
            where="",
            columns=(
                *("basis", "features", "errors rejected", "gaps rejected"),
                *("largest statistic", "most that chance explains", "adequate"),
            ),
            rows=tuple(rows),
        )

    def _policies(self) -> Table:
        peer = self._percent(float(self.peer.losses.sum()) - self.best.loss)
        fixed: list[tuple[str | float, ...]] = [
            ("stay at the start", "", "", 100.0, 100.0, 0.0, 0, 0.0),
            ("best fixed thresholds", "", "", 0.0, 0.0, "", "", ""),
            ("fairlearn's ThresholdOptimizer", "", "", peer, peer, "", "", ""),
        ]
        names = dict.fromkeys(run.policy for run in self.runs if run.scopes == "known")
        played = [
            (*self._row(name, self.of(name)), _mean(run.early for run in self.of(name)))
            for name in names
        ]
        return Table(
            name="policies",
            title="Where policies end, in % of what there is to gain",
            where="",
            columns=(
                *("policy", "rounds", "runs", "end above the best", "late regret"),
                *("movement", "moves", f"movement in {self.spec.eager_rounds:,} rounds"),
            ),
            rows=(*fixed, *played),
        )

    def _percent(self, loss: float) -> float:
        """A loss or regret per round in % of what there is to gain."""
        return 100.0 * loss / self.way

    def _row(self, name: str, runs: list[FairnessRun]) -> tuple[str | float, ...]:
        return (
            name,
            runs[0].rounds,
            len(runs),
            self._percent(_mean(run.end_loss for run in runs) - self.best.loss),
            self._percent(_mean(run.late for run in runs)),
            _mean(run.movement[-1] for run in runs),
            _mean(run.moves for run in runs),
        )

    def _graphs(self) -> Table:
        rows: list[tuple[str | float, ...]] = []
        for graph, name in GRAPHS.items():
            runs = self.of(STEADY, graph)
            regret = self._percent(_mean(run.regret[-1] / run.rounds for run in runs))
            rows.append((*self._row(name, runs), _mean(run.edges for run in runs), regret))
        return Table(
            name="graphs",
            title="The price of a wrong graph: Steady told other scopes, in % as above",
            where="",
            columns=(
                *("graph", "rounds", "runs", "end above the best", "late regret", "movement"),
                *("moves", "dependencies at the end", "regret of all rounds"),
            ),
            rows=tuple(rows),
        )

    def _thresholds(self) -> Table:
        ends = self.of(STEADY)[0].thresholds[-1]
        peer = (self.peer.thresholds * self.peer.chances).sum(axis=1)
        rows: list[tuple[str | float, ...]] = [
            (
                name,
                self.spec.start,
                *(float(each[j]) for each in (ends, self.best.thresholds, peer)),
                float(self.start[j]),
                float(self.best_losses[j]),
            )
            for j, name in enumerate(group_names(self.spec.by))
        ]
        return Table(
            name="thresholds",
            title="Thresholds by group, Steady's of its first run",
            where="",
            columns=(
                *("group", "start", "Steady", "best fixed", "fairlearn, mean of two"),
                *("error at the start", "error at the best"),
            ),
            rows=tuple(rows),
        )

    @property
    def figures(self) -> list[Figure]:
        """Regret and movement of the policies, and the thresholds of a run."""
        late, moved = self.late, self.movement_ratio
        return [
            Figure(
                name="fairness",
                title="Thresholds per group on Adult",
                where="",
                caption=(
                    "Top: regret per round so far, as a share of what there is to gain, and l1 "
                    "movement; the mean of the runs and their range. Middle: Steady's thresholds "
                    "in its first run, a lane from 0 to 1 for each group, and where all its runs "
                    "end (fairlearn's: the mean of the two that it draws lots between). Below: "
                    "Steady told other graphs."
                ),
                alt=(
                    f"Steady's regret per round over the last fifth is {late.mean():.1%} of what "
                    f"there is to gain, at most {late.max():.1%}; it moves at most "
                    f"{moved.max():.1%} of standard LinUCB's movement."
                ),
                draw=partial(plot.draw, self),
            )
        ]

    @property
    def remarks(self) -> list[str]:
        """What is found, and what stands in the way."""
        from trimtab.paper.fairness.remarks import remarks

        return remarks(self)


def _mean(numbers: Iterable[float]) -> float:
    return float(np.mean(list(numbers)))
