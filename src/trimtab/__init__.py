"""Tune the continuous knobs of a live system online, and move them as little as possible.

Public names resolve at first use, so that `import trimtab` and `trimtab --help`
cost nothing: numpy and scipy load with the first name that needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the same names as in _HOME, for type checkers and editors
    from trimtab import plot as plot
    from trimtab import theory as theory
    from trimtab.errors import Conflict as Conflict
    from trimtab.errors import InvalidInput as InvalidInput
    from trimtab.errors import NotFound as NotFound
    from trimtab.errors import SolverFailed as SolverFailed
    from trimtab.errors import TrimtabError as TrimtabError
    from trimtab.files import load as load
    from trimtab.files import save as save
    from trimtab.learn import Confidence as Confidence
    from trimtab.learn import Prior as Prior
    from trimtab.live.tuner import Tuner as Tuner
    from trimtab.model import bases as bases
    from trimtab.model.domain import Balls as Balls
    from trimtab.model.domain import Box as Box
    from trimtab.model.domain import Simplex as Simplex
    from trimtab.model.graph import Graph as Graph
    from trimtab.model.problem import Problem as Problem
    from trimtab.policies import LCP as LCP
    from trimtab.policies import ROBD as ROBD
    from trimtab.policies import AdaptiveGraphLinUCB as AdaptiveGraphLinUCB
    from trimtab.policies import AsyncLazyGraphLinUCB as AsyncLazyGraphLinUCB
    from trimtab.policies import FixedState as FixedState
    from trimtab.policies import FollowThePerturbedLeader as FollowThePerturbedLeader
    from trimtab.policies import JointLazyGraphLinUCB as JointLazyGraphLinUCB
    from trimtab.policies import LazyGraphLinUCB as LazyGraphLinUCB
    from trimtab.policies import LazyOGD as LazyOGD
    from trimtab.policies import LinUCB as LinUCB
    from trimtab.policies import PooledGraphLinUCB as PooledGraphLinUCB
    from trimtab.policies import RandomState as RandomState
    from trimtab.policies import Record as Record
    from trimtab.policies import ScalarLinUCB as ScalarLinUCB
    from trimtab.policies import SteadyGraphLinUCB as SteadyGraphLinUCB
    from trimtab.policies import binary as binary
    from trimtab.policies import restore as restore
    from trimtab.serve.client import Client as Client
    from trimtab.sim import Trace as Trace
    from trimtab.sim import worlds as worlds
    from trimtab.sim.play import play as play
    from trimtab.sweeps import sweep as sweep

__version__ = "0.1.0"

# Where each public name lives, and the names that are modules themselves.
_HOME = {
    "AdaptiveGraphLinUCB": "trimtab.policies",
    "AsyncLazyGraphLinUCB": "trimtab.policies",
    "SteadyGraphLinUCB": "trimtab.policies",
    "Record": "trimtab.policies",
    "Balls": "trimtab.model.domain",
    "Box": "trimtab.model.domain",
    "Client": "trimtab.serve.client",
    "Confidence": "trimtab.learn",
    "Prior": "trimtab.learn",
    "Conflict": "trimtab.errors",
    "FixedState": "trimtab.policies",
    "FollowThePerturbedLeader": "trimtab.policies",
    "Graph": "trimtab.model.graph",
    "InvalidInput": "trimtab.errors",
    "JointLazyGraphLinUCB": "trimtab.policies",
    "LCP": "trimtab.policies",
    "LazyGraphLinUCB": "trimtab.policies",
    "LazyOGD": "trimtab.policies",
    "LinUCB": "trimtab.policies",
    "NotFound": "trimtab.errors",
    "PooledGraphLinUCB": "trimtab.policies",
    "Problem": "trimtab.model.problem",
    "ROBD": "trimtab.policies",
    "RandomState": "trimtab.policies",
    "ScalarLinUCB": "trimtab.policies",
    "Simplex": "trimtab.model.domain",
    "SolverFailed": "trimtab.errors",
    "Trace": "trimtab.sim",
    "TrimtabError": "trimtab.errors",
    "Tuner": "trimtab.live.tuner",
    "binary": "trimtab.policies",
    "load": "trimtab.files",
    "play": "trimtab.sim.play",
    "restore": "trimtab.policies",
    "save": "trimtab.files",
    "sweep": "trimtab.sweeps",
}

_MODULES = {
    "bases": "trimtab.model.bases",
    "plot": "trimtab.plot",
    "theory": "trimtab.theory",
    "worlds": "trimtab.sim.worlds",
}

__all__ = list(_HOME) + list(_MODULES)


if not TYPE_CHECKING:  # else a checker would take any misspelt name for an object

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            value: object = import_module(_MODULES[name])
        elif name in _HOME:
            value = getattr(import_module(_HOME[name]), name)
        else:
            raise AttributeError(f"module 'trimtab' has no attribute {name!r}")
        globals()[name] = value  # the next access does not come here
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
