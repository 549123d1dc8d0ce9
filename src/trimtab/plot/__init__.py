"""Figures of a run, simulated or live: what moved, what it brought, what is known.

Each function takes a `Trace`, a `Tuner`, or a spec and its path, whose journal is read; it returns
a plotly figure, with what it shows in words as `figure.layout.meta["alt"]`. They need
``pip install 'trimtab[plot]'``.
"""

from trimtab.plot.costs import cost, movement
from trimtab.plot.curves import responses
from trimtab.plot.dependencies import graph
from trimtab.plot.lanes import knobs
from trimtab.plot.metrics import objectives
from trimtab.plot.sources import rounds
from trimtab.plot.summaries import league, sweep
from trimtab.plot.table import Rounds
from trimtab.plot.theme import dark

__all__ = [
    "Rounds",
    "cost",
    "dark",
    "graph",
    "knobs",
    "league",
    "movement",
    "objectives",
    "responses",
    "rounds",
    "sweep",
]
