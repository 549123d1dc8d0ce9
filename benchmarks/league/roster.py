"""All rivals that search."""

from __future__ import annotations

from benchmarks.league.bluefin import BlueFin
from benchmarks.league.bonsai import Ax
from benchmarks.league.gaussian_process import GPUCB
from benchmarks.league.rivals import (
    CMAES,
    SPSA,
    HillClimbing,
    Optuna,
    OptunaCMA,
    OptunaGP,
    Searcher,
)
from benchmarks.league.travel import Xopt

RIVALS: tuple[type[Searcher], ...] = (
    HillClimbing,
    SPSA,
    BlueFin,
    CMAES,
    Optuna,
    OptunaCMA,
    OptunaGP,
    GPUCB,
    Ax,
    Xopt,
)
