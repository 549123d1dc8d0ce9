"""The third experiment's result, as the report wants it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.adult import plot
from trimtab.paper.adult.play import Fit, Run, Settings, Threshold, Variant
from trimtab.paper.adult.published import PUBLISHED
from trimtab.paper.experiment import Comparison, Figure, Measured, Setting, Table, ratios, values


@dataclass(frozen=True, kw_only=True)
class AdultThreshold:
    """What came of the experiment."""

    spec: Settings
    played: Mapping[str, list[Run]]  # by the name of the variant
    fits: list[Fit]  # of polynomials, over [0, 1]
    losses: Mapping[float, float]  # of some thresholds, on the whole test split
    best: float  # the best threshold of all

    name = "adult"
    title = "Adult: one threshold, error plus equal opportunity"

    @property
    def question(self) -> str:
        """What the paper did, and what is compared."""
        s = self.spec
        return (
            "A logistic regression on Adult, one decision threshold for everybody, loss = error "
            "rate + |TPR of men - TPR of women|, features 1, tau, tau^2, reg 5, noise "
            f"{s.sigma:g}, start {s.start:g}, 10 seeds: these the paper states. It does not state "
            "horizon, radius, split, encoding or batches. Here: the official split, all columns, "
            f"the test split's loss, radius {s.radius:g}; Algorithm 1 to the letter."
        )

    @property
    def settings(self) -> list[Setting]:
        """Every variant."""
        return [self._setting(variant) for variant in self.spec.variants]

    def _setting(self, variant: Variant) -> Setting:
        s = self.spec
        return Setting(
            name=variant.name,
            stated=variant.levels is None and variant.reg == 5.0 and variant.degree == 2,
            facts={
                "thresholds": "[0, 1]" if variant.levels is None else variant.levels,
                "feedback": "the whole test split"
                if variant.batch is None
                else f"batches of {variant.batch}",
                "noise added": s.sigma,
                "rows with unknown entries": "left out" if variant.drop_unknown else "kept",
                "rounds": variant.rounds,
                "reg": variant.reg,
                "radius": s.radius,
                "degree": variant.degree,
                "start": s.start,
                "runs": s.runs,
            },
        )

    @cached_property
    def columns(self) -> dict[str, dict[str, Array]]:
        """By variant and name: one value per run, (runs,)."""
        return {
            name: {
                "movement_standard": np.array([run.movement[0, -1] for run in runs]),
                "movement_lazy": np.array([run.movement[1, -1] for run in runs]),
                "end_standard": np.array([run.end[0] for run in runs]),
                "end_lazy": np.array([run.end[1] for run in runs]),
                "loss_standard": np.array([run.loss[0] for run in runs]),
                "loss_lazy": np.array([run.loss[1] for run in runs]),
            }
            for name, runs in self.played.items()
        }

    @property
    def comparisons(self) -> list[Comparison]:
        """Movement of both, its ratio, and where both end."""
        return [
            Comparison(
                published=published,
                measured=tuple(
                    Measured(setting=name, values=self._measured(published.name, found))
                    for name, found in self.columns.items()
                ),
            )
            for published in PUBLISHED
        ]

    def _measured(self, name: str, found: dict[str, Array]) -> tuple[float, ...]:
        if name == "ratio":
            return ratios(found["movement_standard"], found["movement_lazy"])
        return values(found[name])

    @property
    def tables(self) -> list[Table]:
        """Means by variant, the test of the features, and the loss itself."""
        means: list[tuple[str | float, ...]] = [
            (name, *(float(column.mean()) for column in found.values()))
            for name, found in self.columns.items()
        ]
        fits = [
            (f"degree {fit.degree}", fit.statistic, fit.critical, "yes" if fit.rejected else "no")
            for fit in self.fits
        ]
        losses = [(f"{threshold:g}", loss) for threshold, loss in self.losses.items()]
        return [
            Table(
                name="means",
                title=f"Means over {self.spec.runs} runs",
                where="",
                columns=(
                    *("setting", "movement, standard", "movement, lazy"),
                    *("end, standard", "end, lazy", "loss, standard", "loss, lazy"),
                ),
                rows=tuple(means),
            ),
            Table(
                name="lack_of_fit",
                title="Whether polynomials fit the loss over [0, 1], by the lack-of-fit test",
                where="",
                columns=("features", "statistic", "most that chance explains", "rejected"),
                rows=tuple(fits),
            ),
            Table(
                name="loss",
                title="Expected loss by threshold, on the test split",
                where="",
                columns=("threshold", "loss"),
                rows=tuple(losses),
            ),
        ]

    @property
    def figures(self) -> list[Figure]:
        """Mean thresholds with bands and movement, for the paper's domain and the truncated one."""
        shown = {name: runs for name, runs in self.played.items() if "reg" not in name}
        parts = [
            f"{name}: standard LinUCB moves {found['movement_standard'].mean():.1f}, Algorithm 1 "
            f"{found['movement_lazy'].mean():.1f}; they end at {found['end_standard'].mean():.2f} "
            f"and {found['end_lazy'].mean():.2f}."
            for name, found in self.columns.items()
            if name in shown
        ]
        return [
            Figure(
                name="adult",
                title="Threshold and movement on Adult",
                where="Figure 5",
                caption=(
                    f"Left: mean threshold of {self.spec.runs} runs, with one standard deviation "
                    "each way. Right: l1 movement, with one standard deviation."
                ),
                alt=" ".join(parts),
                draw=partial(plot.draw, shown),
            )
        ]

    @property
    def remarks(self) -> list[str]:
        """What differs and why."""
        from trimtab.paper.adult.remarks import remarks

        return remarks(self)


def loss_at(settings: Settings, thresholds: tuple[float, ...]) -> tuple[dict[float, float], float]:
    """The expected loss at some thresholds, and the best threshold of a fine grid."""
    world = Threshold(settings, Variant(name="loss"))
    table = {x: float(world.loss(np.array([x]))) for x in thresholds}
    return table, float(world.optimum.state[0])
