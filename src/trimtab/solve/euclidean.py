r"""A solve whose moves cost their Euclidean length: |c (s - now)|_2 couples all knobs.

For every eta > 0

    |c d|_2  <=  sum_j c_j^2 d_j^2 / (2 eta) + eta / 2,        equal at eta = |c d|_2,

so that min_s F(s) + |c d|_2 is the least over eta of a solve with a quadratic price of every
knob, which is one criterion more for each: known, and without a width. Some values of eta are
tried, and the best is improved by setting eta to the length found until nothing is gained.
On balls the quadratic price enters the steps themselves (`ball.search`). Since
|x|_1 / sqrt(n) <= |x|_2 for n knobs, a lower bound of a solve with the l1 price c / sqrt(n) is one
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from trimtab._core import choose
from trimtab.arrays import Array, Ints, read_only
from trimtab.model.bases import Features, Monomials
from trimtab.model.bases.monomial import MonomialArrays
from trimtab.model.bases.stacked import Joined, Laid
from trimtab.model.domain import BoundBalls
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.model.toll import Toll
from trimtab.solve import ball
from trimtab.solve.bound import Bound, Constraint
from trimtab.solve.solution import Solution
from trimtab.solve.subproblem import Part

STARTS = 8  # on balls, at effort 1
LENGTHS = 2.0 ** -np.arange(10)  # eta, as shares of the longest move
GRID_EFFORT = 0.5  # of each of these, as a share of the effort asked for
AGAIN = 30  # times at most that eta is set to the length found
GAINED = 1e-12  # of |G|: less than this is nothing


def search(
    bound: Bound,
    current: Array,
    free: Ints,
    toll: Toll,
    linear: partial[Solution],
    constraints: Sequence[Constraint] = (),
) -> Solution:
    """The best state found; `linear` is the solve of this bound with linear prices."""
    effort, seed = linear.keywords["effort"], linear.keywords["seed"]
    priced = free[toll.per_knob[free] > 0.0]
    domain, readers = bound.domain, bound.problem.graph.readers(free)
    if isinstance(domain, BoundBalls):
        part = Part(bound=bound, now=current, knobs=free, criteria=readers, price=toll.per_knob)
        return ball.search(part, domain, max(int(np.ceil(STARTS * effort)), 1), seed, l2=True)
    wide = (toll.per_knob * (domain.high - domain.low))[priced]
    quadratic = _Quadratic(bound, current, priced)

    def cost(state: Array) -> float:
        return bound.value(state, readers) + toll.of(current, state)

    def at(eta: float, effort: float) -> Solution:
        quadratic.price(toll.per_knob[priced] ** 2 / (2.0 * eta))
        options = linear.keywords | {"effort": effort, "constraints": constraints}
        return linear.func(quadratic.bound, current, **options)

    unpriced = linear(constraints=constraints)
    found = [at(float(eta), GRID_EFFORT * effort) for eta in np.linalg.norm(wide) * LENGTHS]
    states = [unpriced.state, *(each.state for each in found)]
    if all(each.excess(current) <= 0.0 for each in constraints):
        states = [current, *states]
    work = unpriced.work + sum(each.work for each in found)
    values = [cost(state) for state in states]
    best = choose(np.array(states), np.array(values), current)
    state, value = states[best], values[best]
    for _ in range(AGAIN):
        length = float(np.linalg.norm(toll.per_knob * (state - current)))
        if length == 0.0:
            break
        again = at(length, effort)
        work += again.work
        if not cost(again.state) < value - GAINED * (1.0 + abs(value)):
            break
        state, value = again.state, cost(again.state)
    return Solution(state, value, None, work)


class _Quadratic:
    """The bound, and q_j (s_j - now_j)^2 for every priced knob, up to a constant."""

    def __init__(self, bound: Bound, now: Array, knobs: Ints) -> None:
        problem, n = bound.problem, knobs.size
        self._now, self._own = now[knobs], bound.R.size
        features = _with_squares(problem.features, knobs, problem.knobs)
        scopes = [problem.graph.scope(i).tolist() for i in range(problem.criteria)]
        graph = Graph.from_scopes([*scopes, *([int(j)] for j in knobs)], knobs=problem.knobs)
        extended = Problem(
            graph,
            basis=Laid(features),
            domain=problem.domain.unbound(),
            weights=np.append(problem.weights, np.ones(n)),
        )
        triangle = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0])  # R = I, and a row for v
        R = np.append(bound.R, np.tile(triangle, n))
        self.bound = Bound(extended, R, np.append(bound.radii, np.zeros(n)))
        if bound.domain is not problem.domain:
            self.bound = self.bound.within(bound.domain)

    def price(self, q: Array) -> None:
        """Set the price of each priced knob: (n,)."""
        rows = self.bound.R[self._own :].reshape(-1, 6)
        rows[:, 3], rows[:, 4] = -2.0 * q * self._now, q


def _with_squares(features: Features, knobs: Ints, k: int) -> Features | MonomialArrays:
    """The features, and s_j and s_j^2 of every priced knob as one criterion more each."""
    n = knobs.size
    twice, none = np.repeat(knobs, 2).astype(np.int32), np.zeros(2 * n, np.int8)
    squares = MonomialArrays(
        offsets=read_only(2 * np.arange(n + 1)),
        a=twice,
        b=twice,
        p=np.tile([1, 2], n).astype(np.int8),
        q=none,
        scale=np.ones(n),
    )
    if not isinstance(features, Monomials):
        graph = Graph.from_scopes([[int(j)] for j in knobs], knobs=k)
        return Joined([features, Monomials(squares, read_only(np.ones(n)), graph)])
    own = features.arrays
    return MonomialArrays(
        offsets=read_only(np.append(own.offsets, own.offsets[-1] + squares.offsets[1:])),
        a=np.concatenate((own.a, squares.a)),
        b=np.concatenate((own.b, squares.b)),
        p=np.concatenate((own.p, squares.p)),
        q=np.concatenate((own.q, squares.q)),
        scale=np.append(own.scale, squares.scale),
    )


def lower_price(toll: Toll, free: Ints) -> Array:
    """An l1 price that is nowhere above the toll of moving these knobs, but for the switch."""
    priced = int((toll.per_knob[free] > 0.0).sum())
    return np.asarray(toll.per_knob / np.sqrt(max(priced, 1)))


def with_switch(found: Solution, stay: float, current: Array, switch: float) -> Solution:
    """The solution once every move costs a fixed price more: it, or staying.

    The price is the same wherever the move goes, so that no third state can be better. It costs
    `stay` to stay, infinity where that is not allowed.
    """
    lower = None if found.lower_bound is None else min(found.lower_bound + switch, stay)
    moved = not np.array_equal(found.state, current)
    if stay < np.inf and not (moved and found.value + switch < stay):
        return replace(found, state=current.copy(), value=stay, lower_bound=lower)
    return replace(found, value=found.value + switch * moved, lower_bound=lower)
