"""The second experiment's result, as the report wants it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.cliques import DOMAIN_NAMES, LAW_NAMES, Domain
from trimtab.paper.experiment import Comparison, Figure, Measured, Setting, Table, ratios, values
from trimtab.paper.heterogeneous import plot
from trimtab.paper.heterogeneous.play import CliquesRun, Settings
from trimtab.paper.heterogeneous.published import PUBLISHED
from trimtab.paper.heterogeneous.remarks import remarks
from trimtab.paper.verdict import Judged

CLOCKS = {"global": "all clocks reset", "ringing": "own clocks reset"}


@dataclass(frozen=True, kw_only=True)
class Heterogeneous(Judged):
    """What came of the experiment.

    A setting is a domain and what a global update resets: all clocks, as Algorithm 1 is printed,
    or only those that rang. The asynchronous policy is the same in both.
    """

    spec: Settings
    played: Mapping[tuple[Domain, str], list[CliquesRun]]

    name = "heterogeneous"
    title = "Ten cliques: global and asynchronous updates"

    @property
    def question(self) -> str:
        """What the paper did, and what is compared."""
        s = self.spec
        return (
            f"{len(s.stiffness)} cliques of two knobs, one linear loss each, with the ridge "
            "parameters (stiffness) of the paper's table, between "
            f"{s.stiffness[0][1]:g} and {s.stiffness[-1][1]:g}. The paper does not state horizon, "
            f"radius, noise, set of actions or theta*; here T = {s.rounds:,}, radius "
            f"{s.radius:g}, noise {s.sigma:g}, theta* on the unit sphere, clique by clique. Its "
            "tables count clique updates: a global update counts for every clique, an "
            "asynchronous one for the cliques that triggered it. The first look, before any data, "
            "is not counted."
        )

    @property
    def settings(self) -> list[Setting]:
        """Every pair of a domain and a reset rule."""
        s = self.spec
        return [
            Setting(
                name=setting_name(domain, rule),
                stated=(domain, rule) == ("square", "global"),
                facts={
                    "domain": f"{DOMAIN_NAMES[domain]}, one per clique",
                    "a global update resets": CLOCKS[rule].replace(" reset", ""),
                    "theta*": LAW_NAMES["sphere"],
                    "rounds": s.rounds,
                    "radius": s.radius,
                    "sigma": s.sigma,
                    "start": "zero vector",
                    "runs": s.runs,
                },
            )
            for domain in s.domains
            for rule in CLOCKS
        ]

    def solves(self, domain: Domain, policy: str) -> Array:
        """Updates of each run: (runs,)."""
        return np.array([run.solves for run in self.played[domain, policy]], float)

    def updates(self, domain: Domain, policy: str) -> Array:
        """Looks that each clique triggered: (runs, cliques)."""
        return np.array([run.updates for run in self.played[domain, policy]])

    def movement(self, domain: Domain, policy: str) -> Array:
        """The l1 movement of each run: (runs,)."""
        return np.array([run.movement[-1] for run in self.played[domain, policy]])

    def _measured(self, domain: Domain, rule: str) -> dict[str, tuple[float, ...]]:
        """Every quantity in one setting, by the name of its published number."""
        cliques = [clique for clique, _ in self.spec.stiffness]
        solves, local = self.solves(domain, rule), self.updates(domain, "async")
        return {
            "updates_global": values(solves),
            **{f"updates_async_{c}": values(local[:, j]) for j, c in enumerate(cliques)},
            **{f"waste_{c}": ratios(solves, local[:, j]) for j, c in enumerate(cliques)},
            "total_global": values(len(cliques) * solves),
            "total_async": values(local.sum(axis=1)),
            "update_ratio": ratios(len(cliques) * solves, local.sum(axis=1)),
            "movement_ratio": ratios(self.movement(domain, rule), self.movement(domain, "async")),
        }

    @property
    def comparisons(self) -> list[Comparison]:
        """Updates by clique, their totals, and the two ratios."""
        measured = {
            setting_name(domain, rule): self._measured(domain, rule)
            for domain in self.spec.domains
            for rule in CLOCKS
        }
        return [
            Comparison(
                published=published,
                measured=tuple(
                    Measured(setting=setting, values=found[published.name])
                    for setting, found in measured.items()
                ),
            )
            for published in PUBLISHED
        ]

    @property
    def tables(self) -> list[Table]:
        """The trigger table, and what every schedule cost."""
        return [self._triggers(), self._costs()]

    def _triggers(self) -> Table:
        published = {each.name: each.value for each in PUBLISHED}
        domains = list(reversed(self.spec.domains))
        columns = ["clique", "stiffness", "published global", "published async"]
        for domain in domains:
            columns += [f"{domain}: global", f"{domain}: own clocks", f"{domain}: async"]
        rows: list[tuple[str | int | float, ...]] = []
        for j, (clique, reg) in enumerate(self.spec.stiffness):
            row: list[str | int | float] = [str(clique), reg, int(published["updates_global"])]
            row.append(int(published[f"updates_async_{clique}"]))
            for domain in domains:
                row += [float(self.solves(domain, rule).mean()) for rule in CLOCKS]
                row.append(float(self.updates(domain, "async")[:, j].mean()))
            rows.append(tuple(row))
        total: list[str | int | float] = ["all", ""]
        total += [int(published["total_global"]), int(published["total_async"])]
        for domain in domains:
            total += [
                len(self.spec.stiffness) * float(self.solves(domain, rule).mean())
                for rule in CLOCKS
            ]
            total.append(float(self.updates(domain, "async").sum(axis=1).mean()))
        return Table(
            name="triggers",
            title=f"Updates by clique, means of {self.spec.runs} runs",
            where="Tables 2 and 3",
            columns=tuple(columns),
            rows=(*rows, tuple(total)),
        )

    def _costs(self) -> Table:
        return Table(
            name="costs",
            title="What each schedule did",
            where="",
            columns=("schedule", "runs", "updates", "l1 movement", "regret"),
            rows=tuple(
                (
                    f"{domain}: {plot.NAMES[policy]}",
                    len(runs),
                    float(self.solves(domain, policy).mean()),
                    float(self.movement(domain, policy).mean()),
                    float(np.mean([run.regret for run in runs])),
                )
                for (domain, policy), runs in self.played.items()
            ),
        )

    @property
    def figures(self) -> list[Figure]:
        """Movement with its zoom, and the counts by clique."""
        movement = {
            name: np.array([run.movement for run in self.played["circle", name]])
            for name in ("standard", "global", "async")
        }
        ends = [float(runs[:, -1].mean()) for runs in movement.values()]
        tenth = self.spec.rounds // 10
        early = ", ".join(f"{runs[:, tenth].mean():.0f}" for runs in movement.values())
        found = self.verdicts
        value = {each.name: each.value for each in PUBLISHED}
        here = [setting.name for setting in self.settings].index(setting_name("circle", "global"))
        names = [f"updates_async_{clique}" for clique, _ in self.spec.stiffness]
        local = [(value[name], found[name].intervals[here]) for name in names]
        overall = value["updates_global"], found["updates_global"].intervals
        circle = self.updates("circle", "async").mean(axis=0)
        return [
            Figure(
                name="heterogeneous-movement",
                title="Movement of the three schedules",
                where="Figure 4",
                caption=(
                    "l1 movement on unit circles, mean and one standard deviation each way, of "
                    f"{len(movement['standard'])} runs of standard LinUCB and {self.spec.runs} of "
                    "each lazy schedule. Then the lazy ones alone."
                ),
                alt=(
                    f"After {self.spec.rounds:,} rounds standard LinUCB has moved {ends[0]:.0f}, "
                    f"the global schedule {ends[1]:.0f} and the asynchronous one {ends[2]:.0f}. "
                    f"In round {tenth} they were at {early}."
                ),
                draw=partial(plot.draw_movement, movement),
            ),
            Figure(
                name="heterogeneous-updates",
                title="Updates by clique and by setting",
                where="Tables 2 and 3",
                caption=(
                    "Asynchronous updates of each clique on the circle, and global updates in "
                    "every setting, with the intervals of the verdicts."
                ),
                alt=(
                    f"Asynchronous updates fall from {circle[0]:.1f} for the least stiff clique to "
                    f"{circle[-1]:.1f} for the stiffest, beside the published counts. Global "
                    "updates: "
                    + "; ".join(f"{each.setting} {each.mean:.1f}" for each in overall[1])
                    + "."
                ),
                draw=partial(
                    plot.draw_updates, [reg for _, reg in self.spec.stiffness], local, overall
                ),
            ),
        ]

    @property
    def remarks(self) -> list[str]:
        """What differs and why."""
        return remarks(self)


def setting_name(domain: Domain, rule: str) -> str:
    """As the tables show it."""
    return f"{domain}, {CLOCKS[rule]}"
