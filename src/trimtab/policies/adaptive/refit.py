"""The problem that is left, and a learner that goes on as if it had known it all along."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import NOBODY, Ints
from trimtab.learn.sparsity_test import EXCLUDED, INCLUDED, UNDECIDED, Edges
from trimtab.learn.subset_refit import on_graph, refit
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.policies.learner import Learner
from trimtab.policies.learner.snapshot import arguments


def refitted(
    learner: Learner, smaller: Problem, *, delta: float, due: bool, fresh: Ints = NOBODY
) -> Learner:
    """The learner on a problem with smaller scopes: same data, state, clock and certificate.

    Features of a smaller scope may be scaled up, by r: then reg becomes r^2 reg and the bound
    on the norm of the parameter norm / r, so that the ellipsoid is the old one, cut down.
    With a prior V starts at that of the smaller scopes, which is a block of the old one.

    Args:
        learner: with everything flushed.
        smaller: the problem on the smaller scopes.
        delta: of its radius, where that is a `Confidence`.
        due: whether every criterion is to trigger at once; otherwise all clocks are reset.
        fresh: criteria whose scopes have grown: they begin anew, and trigger at once.
    """
    old = learner.estimators.reg
    saved = learner.snapshot() | refit(learner.estimators, smaller, fresh)
    for name in saved:  # what was kept of single rounds is given up
        if name.startswith(("diary.", "first.")):
            saved[name] = False if name == "first.open" else saved[name][:0]
    saved["since"] = np.full(smaller.criteria, np.inf if due else 0.0)
    if "radius.form" in saved:
        saved["radius.norm"] = saved["radius.norm"] / np.sqrt(saved["reg"] / old)
        saved["radius.delta"] = delta
    if "R0" in saved:
        saved["R0"] = Learner(smaller, **arguments(saved)).estimators.stats.R0
    found = Learner.restored(smaller, saved)
    if found.beliefs is not None:
        found.beliefs.begin_anew()
    if fresh.size:
        found.forget(fresh)
        found.estimators.stats.since[fresh] = np.inf
    found.estimators.deploy(found.state, smaller.all_criteria)
    found.lcb.update(smaller.all_criteria)
    return found


def learned(problem: Problem, edges: Edges) -> Problem:
    """The problem on the graph that is left."""
    centres = None if problem.graph.centres is None else problem.graph.centres.tolist()
    graph = Graph.from_scopes(edges.scopes(), knobs=problem.knobs, centres=centres)
    return on_graph(problem, graph)


def delta_share(edges: Edges) -> float:
    """The part of delta for the learned scopes, so that all that may be learned have 1/2.

    A scope with u undecided knobs of n holds at most u that are not read. At most n^e / e!
    scopes hold e such knobs, and sum_e n^e / e! (2n)^-e <= exp(1/2) < 2. A scope from which
    nothing was excluded keeps the 1/2 of the super-graph.
    """
    included, excluded, undecided = map(edges.counts, (INCLUDED, EXCLUDED, UNDECIDED))
    n = np.maximum(included + excluded + undecided, 1)
    share = 0.25 * (2.0 * n) ** -undecided.astype(np.float64)
    return float(np.where(excluded > 0, share, 0.5).min())
