r"""A regression on fewer features, from the one on all of them: nothing that was seen is lost.

The Gram matrix of some features S is the principal sub-block V_SS of that of all, and
b_S belongs to it: the refit theta = V_SS^{-1} b_S is what a regression on S alone would have
learned from the same data. Its factor comes from the rows S of the old one by an orthogonal
triangularisation, so that no matrix is squared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trimtab.arrays import NOBODY, Array, Ints
from trimtab.errors import InvalidInput
from trimtab.learn.nodewise import NodewiseEstimators
from trimtab.learn.statistics import unpack
from trimtab.model.bases import Monomials
from trimtab.model.bases.pairwise_fourier import Waves
from trimtab.model.domain import BoundBalls
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem

Monomial = tuple[tuple[int, int], ...]


def on_graph(problem: Problem, graph: Graph) -> Problem:
    """The same problem on another graph of the same knobs and criteria."""
    return Problem(
        graph,
        basis=problem.basis,
        domain=problem.domain.unbound(),
        weights=problem.weights,
        **problem.prices,
    )


def kept_features(problem: Problem, smaller: Problem, criterion: int) -> tuple[Ints, float]:
    """Which features of a criterion the smaller problem has too, and what it multiplies them by.

    The factor is not 1 where features are scaled to length 1: fewer are scaled up.

    Raises:
        InvalidInput: the features of the smaller scope are not some of those of the larger.
    """
    (mine, scale), (theirs, other) = (monomials(p, criterion) for p in (problem, smaller))
    place = {monomial: f for f, monomial in enumerate(mine)}
    if not set(theirs) <= set(place):
        raise InvalidInput(
            f"{type(problem.basis).__name__} has features on part of a scope that it does not have "
            "on the whole, so that a scope cannot shrink; use a nested basis such as Quadratic()"
        )
    kept = np.array([place[monomial] for monomial in theirs], np.int64)
    return kept, 1.0 if kept.size == len(mine) else other / scale  # the same up to rounding


def monomials(problem: Problem, criterion: int) -> tuple[list[Monomial], float]:
    """The features of a criterion as sorted pairs (knob, power), and the scale they all have.

    Waves of one knob or of two have their number in the place of the power.
    """
    if isinstance(problem.features, Waves):
        return problem.features.names(criterion), problem.features.scale(criterion)
    if not isinstance(problem.features, Monomials):
        raise InvalidInput(
            f"{type(problem.basis).__name__} is not made of monomials: every feature mixes all "
            "knobs of its scope; use Quadratic(), for example, or PairwiseFourier()"
        )
    maps = problem.features.arrays
    mine = slice(maps.offsets[criterion], maps.offsets[criterion + 1])
    columns = (column[mine].tolist() for column in (maps.a, maps.p, maps.b, maps.q))
    found = [
        tuple(sorted((j, n) for j, n in ((a, p), (b, q)) if n))
        for a, p, b, q in zip(*columns, strict=True)
    ]
    return found, float(maps.scale[criterion])


def check_nested(problem: Problem) -> None:
    """Refuse a basis whose features on part of a scope are not some of those on the whole."""
    graph = problem.graph
    for i in np.unique(np.diff(graph.scope_offsets), return_index=True)[1].tolist():
        scope, own = graph.scope(i), None if graph.centres is None else int(graph.centres[i])
        rest = [j for j in scope.tolist() if j != own]
        if isinstance(problem.domain, BoundBalls) or len(scope) == 1 or not rest:
            continue  # on balls features are the knobs themselves
        scopes = [graph.scope(n).tolist() for n in range(graph.criteria)]
        scopes[i] = [j for j in scope.tolist() if j != rest[-1]]
        centres = None if graph.centres is None else graph.centres.tolist()
        smaller = Graph.from_scopes(scopes, knobs=graph.knobs, centres=centres)
        kept_features(problem, on_graph(problem, smaller), i)


def sub_factor(A: Array, kept: Ints, ratio: float = 1.0) -> Array:
    """The factor of a criterion's regression on the features `kept`, each times `ratio`.

    >>> A = np.tril(np.arange(1.0, 10.0).reshape(3, 3))  # two features and the losses
    >>> B = sub_factor(A, np.array([1]), 2.0)
    >>> bool(np.allclose(B @ B.T, [[4 * (A @ A.T)[1, 1], 2 * (A @ A.T)[1, 2]],
    ...                            [2 * (A @ A.T)[2, 1], (A @ A.T)[2, 2]]]))
    True

    Args:
        A: (d + 1, d + 1) lower factor, the row of the losses last.
        kept: some of 0, ..., d - 1.
        ratio: new features over old ones.
    """
    d = len(A) - 1
    if ratio == 1.0 and np.array_equal(kept, np.arange(d)):
        return A
    rows = np.vstack((ratio * A[kept], A[d]))
    _, U = np.linalg.qr(rows.T)
    return np.asarray(U.T * np.where(np.diag(U) < 0.0, -1.0, 1.0))


def refit(estimators: NodewiseEstimators, smaller: Problem, fresh: Ints = NOBODY) -> dict[str, Any]:
    """What a snapshot of the estimators would hold, had they always been on the smaller problem.

    Everything must be flushed. The ridge parameter follows the scale of the features, so
    that V is the sub-block of the old V in the new units; clocks are left to the caller, and
    with a prior where V starts (`NodewiseEstimators.start_at`).

    Args:
        estimators: on the graph as it was.
        smaller: the problem on smaller scopes, those of `fresh` excepted.
        fresh: criteria whose scopes may have grown; they have seen nothing there.
    """
    problem, stats = estimators.problem, estimators.stats
    saved = estimators.snapshot()
    blocks, reg, gain = [], estimators.reg.copy(), stats.gain.copy()
    alone = []  # with a prior, the data without it
    for i in range(problem.criteria):
        d = int(problem.dims[i])
        if i in fresh:
            wide = int(smaller.dims[i])
            _, ratio = kept_features(smaller, problem, i)
            reg[i] /= ratio**2
            gain[i] = 0.0
            start = np.diag([*np.full(wide, np.sqrt(reg[i])), 0.0])[np.tril_indices(wide + 1)]
            blocks.append(start)
            alone.append(np.zeros_like(start))
            continue
        A = unpack(stats.R, int(stats.blocks[i]), d + 1)
        kept, ratio = kept_features(problem, smaller, i)
        L = sub_factor(A, kept, ratio)
        blocks.append(L[np.tril_indices(len(L))])
        if estimators.prior is not None:
            data = sub_factor(unpack(stats.alone, int(stats.blocks[i]), d + 1), kept, ratio)
            alone.append(data[np.tril_indices(len(data))])
        if L is not A:
            reg[i] *= ratio**2
            gain[i] = 2.0 * np.log(np.diag(L)[:-1]).sum() - kept.size * np.log(reg[i])
    total, R = int(smaller.features.offsets[-1]), np.concatenate(blocks)
    if estimators.prior is not None:
        saved |= {"alone": np.concatenate(alone), "R0": R}
    return saved | {"R": R, "gain": gain, "reg": reg, "phi": np.zeros(total)}
