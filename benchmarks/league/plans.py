"""How long each rival searches and how long it holds a trial, for every horizon of the league.

    python -m benchmarks.league.pilot --player SPSA --horizon 300      shows how it was chosen

In training worlds, by the lowest geometric mean of the total cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log

HORIZONS = (300, 1_000, 5_000)  # of the league


@dataclass(frozen=True)
class Plan:
    """What a rival does with a horizon."""

    share: float  # of the horizon that it searches
    hold: int  # rounds of a trial
    options: Mapping[str, float] = field(default_factory=dict)  # where not the rival's `DEFAULTS`

    def __str__(self) -> str:
        options = "".join(f", {name} {value:g}" for name, value in self.options.items())
        return f"{self.share:.2g} x {self.hold}{options}"


# What the pilot chose; the slow rivals beyond 300 rounds excepted, which do not play there.
PLANS: dict[str, dict[int, Plan]] = {
    "hill climbing": {
        300: Plan(0.2, 2, {"step": 0.4, "shorter": 0.6}),
        1_000: Plan(0.5, 10),
        5_000: Plan(0.3, 25),
    },
    "SPSA": {
        300: Plan(0.2, 2),
        1_000: Plan(0.3, 5),
        5_000: Plan(0.2, 5, {"perturbation": 0.05}),
    },
    "BlueFin": {
        300: Plan(1.0, 1, {"rms": 1, "eta": 0.02, "decay": 0.95, "delta": 0.2}),
        1_000: Plan(1.0, 5, {"rms": 1, "eta": 0.02, "delta": 0.05, "decay": 0.99}),
        5_000: Plan(1.0, 2, {"rms": 1, "eta": 0.05, "decay": 0.98, "delta": 0.2}),
    },
    "cmaes": {
        300: Plan(0.1, 1, {"near": 0, "sigma": 0.1}),
        1_000: Plan(0.1, 2, {"near": 0, "population": 6, "sigma": 0.15}),
        5_000: Plan(0.1, 5, {"near": 0, "sigma": 0.15}),
    },
    "Optuna TPE": {
        300: Plan(0.05, 1, {"startup": 2, "middle": 1}),
        1_000: Plan(0.05, 2),
        5_000: Plan(0.2, 10, {"multivariate": 1}),
    },
    "Optuna CMA-ES": {
        300: Plan(0.05, 1, {"population": 6, "sigma": 0.1}),
        1_000: Plan(0.1, 2, {"population": 6, "sigma": 0.1}),
        5_000: Plan(0.2, 10, {"population": 4, "sigma": 0.1}),
    },
    # The slow ones: beyond 300 rounds trials so long that there are 16 or 17.
    "Optuna GP": {
        300: Plan(0.05, 1, {"middle": 1, "startup": 3}),
        1_000: Plan(0.1, 6, {"middle": 1, "startup": 3}),
        5_000: Plan(0.2, 62, {"middle": 1, "startup": 3}),
    },
    "BoTorch GP-UCB": {
        300: Plan(0.05, 1, {"middle": 1, "startup": 2}),
        1_000: Plan(0.1, 6, {"middle": 1, "startup": 2}),
        5_000: Plan(0.2, 62, {"middle": 1, "startup": 2}),
    },
    "Ax BONSAI": {
        300: Plan(0.05, 1, {"startup": 3}),
        1_000: Plan(0.1, 6, {"startup": 3}),
        5_000: Plan(0.2, 62, {"startup": 3}),
    },
    "Xopt": {
        300: Plan(0.05, 1, {"travel": 0.4, "startup": 5}),
        1_000: Plan(0.1, 6, {"travel": 0.4, "startup": 5}),
        5_000: Plan(0.2, 62, {"travel": 0.4, "startup": 5}),
    },
}


def planned(rival: str, horizon: int) -> Plan:
    """The plan of the nearest horizon, by the ratio."""
    plans = PLANS[rival]
    return plans[min(plans, key=lambda known: abs(log(known / horizon)))]
