"""The first experiment's result, as the report wants it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.cliques import DOMAIN_NAMES, LAW_NAMES, Domain, Law
from trimtab.paper.experiment import Comparison, Figure, Measured, Setting, Table, ratios, values
from trimtab.paper.single_clique import plot
from trimtab.paper.single_clique.play import CliqueRun, Settings
from trimtab.paper.single_clique.published import PUBLISHED
from trimtab.paper.single_clique.remarks import remarks
from trimtab.paper.verdict import Judged


@dataclass(frozen=True, kw_only=True)
class SingleClique(Judged):
    """What came of the experiment."""

    spec: Settings
    played: Mapping[tuple[Domain, Law], list[CliqueRun]]
    long: Mapping[Domain, list[CliqueRun]]
    stuck: float

    name = "single-clique"
    title = "One clique: movement of standard and lazy LinUCB"

    @property
    def question(self) -> str:
        """What the paper did, and what is compared."""
        s = self.spec
        return (
            f"Two knobs, one linear loss, T = {s.rounds} rounds, reg {s.reg:g}, radius "
            f"{s.radius:g}, noise {s.sigma:g}: these the paper states. It does not state the set "
            "of actions, the law of theta* or the first state. Both policies start at the zero "
            "vector, which the paper's Appendix B names, look for a state before the first round, "
            "and are charged for moving there."
        )

    @property
    def settings(self) -> list[Setting]:
        """Every pair of a domain and a law of theta*."""
        s = self.spec
        return [
            Setting(
                name=setting_name(domain, law),
                stated=domain == "square",
                facts={
                    "domain": DOMAIN_NAMES[domain],
                    "theta*": LAW_NAMES[law],
                    "rounds": s.rounds,
                    "reg": s.reg,
                    "radius": s.radius,
                    "sigma": s.sigma,
                    "start": "zero vector",
                    "runs": s.runs,
                },
            )
            for domain, law in self.played
        ]

    @cached_property
    def columns(self) -> dict[tuple[Domain, Law], dict[str, Array]]:
        """By setting and name: one value per run, (runs,)."""
        return {
            cell: {
                "standard": np.array([run.movement[0, -1] for run in runs]),
                "lazy": np.array([run.movement[1, -1] for run in runs]),
                "regret_standard": np.array([run.regret[0] for run in runs]),
                "regret_lazy": np.array([run.regret[1] for run in runs]),
                "solves": np.array([run.solves[1] for run in runs]),
            }
            for cell, runs in self.played.items()
        }

    def growth(self, domain: Domain) -> Array:
        """By what power of T standard LinUCB's movement grows, from the short T to the long."""
        ends = np.array([run.movement[0, [self.spec.rounds, -1]] for run in self.long[domain]])
        return np.asarray(
            np.log(ends[:, 1] / ends[:, 0]) / np.log(self.spec.long_rounds / self.spec.rounds)
        )

    @property
    def comparisons(self) -> list[Comparison]:
        """Movement of both, the difference in regret, and the growth."""
        measured = {
            "movement_standard": {c: values(v["standard"]) for c, v in self.columns.items()},
            "movement_lazy": {c: values(v["lazy"]) for c, v in self.columns.items()},
            "regret_difference": {
                c: values(v["regret_lazy"] - v["regret_standard"]) for c, v in self.columns.items()
            },
            "growth_standard": {
                (domain, self.spec.laws[0]): values(self.growth(domain)) for domain in self.long
            },
        }
        return [
            Comparison(
                published=published,
                measured=tuple(
                    Measured(setting=setting_name(*cell), values=found)
                    for cell, found in measured[published.name].items()
                ),
            )
            for published in PUBLISHED
        ]

    @property
    def tables(self) -> list[Table]:
        """Means by setting."""
        rows = [
            (
                setting_name(*cell),
                float(v["standard"].mean()),
                float(v["lazy"].mean()),
                float(np.mean(ratios(v["standard"], v["lazy"]))),
                float(v["regret_standard"].mean()),
                float(v["regret_lazy"].mean()),
                float(v["solves"].mean()),
            )
            for cell, v in self.columns.items()
        ]
        return [
            Table(
                name="means",
                title=f"Means over {self.spec.runs} runs",
                where="",
                columns=(
                    "setting",
                    "movement, standard",
                    "movement, lazy",
                    "ratio",
                    "regret, standard",
                    "regret, lazy",
                    "solves, lazy",
                ),
                rows=tuple(rows),
            )
        ]

    @property
    def figures(self) -> list[Figure]:
        """Trajectory and movement, on the circle and on the square."""
        law = self.spec.laws[0]
        alt = [
            f"On the {domain}, standard LinUCB's movement ends at "
            f"{self.columns[domain, law]['standard'].mean():.1f} and Algorithm 1's at "
            f"{self.columns[domain, law]['lazy'].mean():.1f} on average; in the run shown the "
            f"first knob changes {self._changes(domain, 0)} times under standard LinUCB and "
            f"{self._changes(domain, 1)} times under Algorithm 1."
            for domain in self._drawn
        ]
        return [
            Figure(
                name="single-clique",
                title="Trajectory and movement",
                where="Figure 3",
                caption=(
                    "The first knob, in the run in which standard LinUCB moved it a median "
                    "distance, of both policies under the same noise; and the l1 movement of "
                    f"{self.spec.runs} runs, mean and one standard deviation each way. theta* "
                    f"{LAW_NAMES[law]}."
                ),
                alt=" ".join(alt),
                draw=partial(
                    plot.draw,
                    {domain: self.played[domain, law] for domain in self._drawn},
                ),
            )
        ]

    @property
    def _drawn(self) -> list[Domain]:
        return list(reversed(self.spec.domains))

    def _changes(self, domain: Domain, policy: int) -> int:
        path = plot.typical(self.played[domain, self.spec.laws[0]]).first_knob[policy]
        return int((np.diff(path) != 0).sum())

    @property
    def remarks(self) -> list[str]:
        """What differs and why."""
        return remarks(self)


def setting_name(domain: Domain, law: Law) -> str:
    """As the tables show it."""
    return f"{domain}, theta* {law}"
