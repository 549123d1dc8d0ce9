"""The third experiment's result, as the report wants it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from trimtab.arrays import Array
from trimtab.paper.adult import plot
from trimtab.paper.adult.play import AdultRun, Fit, Settings, Variant
from trimtab.paper.adult.published import PUBLISHED
from trimtab.paper.experiment import Comparison, Figure, Measured, Setting, Table, ratios, values
from trimtab.paper.verdict import Judged

THRESHOLDS = (0.2, 0.5, 0.7, 0.9, 1.0)  # whose losses are told


@dataclass(frozen=True, kw_only=True)
class AdultThreshold(Judged):
    """What came of the experiment."""

    spec: Settings
    played: Mapping[str, list[AdultRun]]  # by the name of the variant
    fits: list[Fit]  # of polynomials, over [0, 1]
    loss: Array  # (3, n) thresholds, their loss on the whole test split, the nearest parabola
    best: float  # the best threshold

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
        losses = [(f"{x:g}", loss) for x, loss in self.losses.items()]
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
    def losses(self) -> dict[float, float]:
        """The expected loss at some thresholds, by threshold."""
        return {x: float(np.interp(x, *self.loss[:2])) for x in THRESHOLDS}

    @property
    def figures(self) -> list[Figure]:
        """Thresholds and movement in every setting; the loss, and what cannot fit it."""
        parts = [
            f"{name}: standard LinUCB moves {found['movement_standard'].mean():.1f}, Algorithm 1 "
            f"{found['movement_lazy'].mean():.1f}; they end at {found['end_standard'].mean():.2f} "
            f"and {found['end_lazy'].mean():.2f}."
            for name, found in self.columns.items()
        ]
        value = {each.name: each.value for each in PUBLISHED}
        losses = ", ".join(f"{loss:.3f} at {x:g}" for x, loss in self.losses.items())
        fits = ", ".join(f"{fit.statistic:.1f} for degree {fit.degree}" for fit in self.fits)
        return [
            Figure(
                name="adult",
                title="Threshold and movement on Adult",
                where="Figure 5",
                caption=(
                    f"The threshold in each of {self.spec.runs} runs, a lane for either policy in "
                    "every setting; thick: the median. Last: l1 movement, with one standard "
                    "deviation."
                ),
                alt=" ".join(parts),
                draw=partial(
                    plot.draw,
                    self.played,
                    (value["movement_standard"], value["movement_lazy"]),
                ),
            ),
            Figure(
                name="adult-loss",
                title="Why no parabola will do",
                where="",
                caption=(
                    "Error rate plus gap of the true positive rates by threshold, on the whole "
                    "test split, and the parabola nearest to it over [0, 1]. Then how far "
                    "polynomials are from losses observed over [0, 1]: the statistic of the "
                    "lack-of-fit test over what chance allows; above 1, a degree is rejected."
                ),
                alt=(
                    f"The loss is {losses}; it is least at {self.best:.2f}. The statistic of the "
                    f"lack-of-fit test is {fits}."
                ),
                draw=partial(plot.draw_loss, self.loss, self.best, self.fits),
            ),
        ]

    @property
    def remarks(self) -> list[str]:
        """What differs and why."""
        from trimtab.paper.adult.remarks import remarks

        return remarks(self)
