r"""What the bounds say of every variant on one problem: shown beside what `advise` simulates.

Symbols as in `lazy`: T the horizon, C the trigger factor, Gamma_i the worst case of `max_gain`,
M = sum_i Gamma_i / log C plus the reviews. Bounds are worst cases: runs stay far below them, but
they tell variants apart before anything has been played.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trimtab.arrays import Array, ArrayLike, number, per_item, whole
from trimtab.errors import InvalidInput
from trimtab.learn import Confidence
from trimtab.learn.joint.model import Factors
from trimtab.learn.sparsity_test import Edges, units
from trimtab.learn.subset_refit import check_nested, on_graph
from trimtab.model.domain import BoundBox
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.theory import adaptive, joint, lazy, ogd

DESIGN = 8  # moves of the default warm-up per feature of the largest criterion: 2 states, 4 laps
FIRST = 2  # rounds that Steady may stay at the start state before it looks


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What is proven of one variant before it has been played. None where there is no bound.

    Steady trades regret for movement: its regret alone may be as large as the total.
    """

    name: str
    regret: float | None = None  # of the losses
    movement: float | None = None  # l1 length of the path
    price: float | None = None  # of that path, at the problem's move_cost
    total: float | None = None  # regret and price together
    looks: float | None = None  # at most
    expected_looks: float | None = None  # where they do not depend on what is observed
    guaranteed: bool = False
    assumes: str = ""
    lacks: str = ""  # why there is no bound


def bounded(*, name: str, regret: float, price: float, **rest: Any) -> Bound:
    """A bound on everything: regret and price, and their sum."""
    total = regret + price
    return Bound(name=name, regret=regret, price=price, total=total, guaranteed=True, **rest)


class Case:
    """A problem, a horizon and what is known of its losses."""

    def __init__(
        self,
        problem: Problem,
        horizon: int,
        *,
        radius: Confidence,
        reg: ArrayLike,
        factor: float,
        worst: float | None = None,
    ) -> None:
        m = problem.criteria
        self.problem, self.radius = problem, radius
        self.T = whole(horizon, "horizon", low=1)
        if radius.sigma is None:
            raise InvalidInput("sigma = None; the bounds depend on the noise: give a bound on it")
        self.sigma = per_item(radius.sigma, m, "sigma", "criterion", low=0.0, strict=True)
        self.norm = per_item(radius.norm, m, "norm", "criterion", low=0.0, strict=False)
        self.reg = per_item(reg, m, "reg", "criterion", low=0.0, strict=True)
        self.C = number(factor, "factor", low=1.0, strict=True)
        self.bounds = problem.features.bounds
        most = float(2.0 * (problem.weights * self.norm) @ self.bounds)
        # R_max: no state's total loss is further above the least one.
        self.worst = most if worst is None else number(worst, "worst", low=0.0, strict=False)
        self.lengths = _lengths(problem, np.ones(problem.knobs))  # (k,) they sum to D1
        self.prices = _lengths(problem, problem.move_cost)  # (k,)

    # What the bounds are made of.

    def gains(self, T: int) -> Array:
        """The most that each criterion can learn in T rounds."""
        return lazy.max_gain(self.problem.dims, T, reg=self.reg, bound=self.bounds)

    def radii(self, T: int, share: float = 1.0) -> Array:
        """The largest radii of T rounds, with a share of delta."""
        delta = share * self.radius.delta
        known = {"sigma": self.sigma, "norm": self.norm, "reg": self.reg}
        return lazy.confidence_radius(self.gains(T), delta=delta, **known)

    def regret(self, T: int, *, factor: float, share: float = 1.0) -> float:
        """Theorem 1' for T rounds."""
        return lazy.prediction_regret(
            self.radii(T, share),
            self.gains(T),
            T,
            reg=self.reg,
            bound=self.bounds,
            factor=factor,
            weights=self.problem.weights,
        )

    def looks(self, T: int) -> float:
        """Triggers and reviews in T rounds."""
        return float(self.gains(T).sum() / np.log(self.C)) + lazy.max_reviews(T)

    def moved(self, lengths: Array, looks: float) -> float:
        """What this number of looks and the cold start can move at these lengths of the knobs."""
        return lazy.movement_regret(float(lengths.sum()), looks, move_cost=1.0)

    def cost(self, T: int, share: float = 1.0) -> float:
        """Algorithm 1 for T rounds: regret and price of movement."""
        regret = self.regret(T, factor=self.C, share=share)
        return regret + self.moved(self.prices, self.looks(T))

    @property
    def widest(self) -> int:
        """The most knobs that a criterion may read."""
        return int(np.diff(self.problem.graph.scope_offsets).max())

    @property
    def in_cliques(self) -> bool:
        """Whether every criterion reads all knobs of its component, so that its block is all."""
        sizes = np.diff(self.problem.graph.scope_offsets)
        parts = self.problem.graph.components()
        return all((sizes[criteria] == knobs.size).all() for knobs, criteria in parts)

    # The bounds.

    def linucb(self) -> Bound:
        """A look in every round: the smallest constant, and movement that only T bounds."""
        return bounded(
            name="LinUCB",
            regret=self.regret(self.T, factor=1.0),
            movement=self.moved(self.lengths, self.T),
            price=self.moved(self.prices, self.T),
            looks=self.T,
            expected_looks=self.T,
            assumes="noise of scale sigma, parameters within norm",
        )

    def lazy(self) -> Bound:
        """Algorithm 1: Theorem 1'."""
        looks = self.looks(self.T)
        return bounded(
            name="LazyGraphLinUCB",
            regret=self.regret(self.T, factor=self.C),
            movement=self.moved(self.lengths, looks),
            price=self.moved(self.prices, looks),
            looks=looks,
            assumes="noise of scale sigma, parameters within norm",
        )

    def local(self) -> Bound:
        """Asynchronous updates: movement by part (c), regret only where components are cliques."""
        rows, gains, reviews = self.problem.graph, self.gains(self.T), lazy.max_reviews(self.T)
        starts = rows.scope_offsets[:-1]

        def path(lengths: Array) -> float:
            extents = np.add.reduceat(lengths[rows.scope_knobs], starts)
            near = lazy.local_movement(extents, gains, factor=self.C)
            return near + self.moved(lengths, reviews)

        known: dict[str, Any] = {
            "name": "AsyncLazyGraphLinUCB",
            "movement": path(self.lengths),
            "price": path(self.prices),
            "looks": self.looks(self.T),
            "assumes": "every component of the graph is a clique",
        }
        if not self.in_cliques:
            return Bound(**known)
        return bounded(regret=self.regret(self.T, factor=self.C), **known)

    def steady(self) -> Bound:
        """Theorem 1' for regret and price together, and two rounds at the start state."""
        row, start = self.lazy(), min(FIRST, self.T) * self.worst
        both = self.cost(self.T) + start
        return replace(
            row,
            name="SteadyGraphLinUCB",
            regret=both,
            total=both,
            assumes=f"{row.assumes}; all losses observed",
        )

    def joint(self, factor_norm: float, *, correlated: bool) -> tuple[Bound, float]:
        """One estimate for all factors, with half of delta, and its ridge parameter."""
        name, problem = "JointLazyGraphLinUCB", self.problem
        length = number(factor_norm, "factor_norm", low=0.0, strict=False)
        try:
            factors = Factors(problem)
        except InvalidInput as error:
            return Bound(name=name, lacks=f"it is not possible here: {error}"), 0.0
        lam = float(self.reg.mean() * (factors.most**2).sum(axis=0).mean())
        rows, weights, sigma = factors.most * factors.features.bounds, problem.weights, 1.0
        if correlated:  # by generalised least squares, and the ridge in its units
            above = self.covariance()
            rows, weights = rows / np.sqrt(above)[:, None], weights * np.sqrt(above)
            lam /= float(above.mean())
        else:
            sigma = float(self.sigma.max())
        gain = joint.max_joint_gain(
            factors.dim, self.T, reg=lam, frobenius=float(np.linalg.norm(rows))
        )
        (beta,) = lazy.confidence_radius(
            gain, sigma=sigma, norm=length, reg=lam, delta=self.radius.delta / 2.0
        )
        looks = joint.max_joint_epochs(gain, factor=self.C) + lazy.max_reviews(self.T)
        row = bounded(
            name=name,
            regret=joint.joint_regret(
                float(beta),
                gain,
                self.T,
                reg=lam,
                norm=float(np.linalg.norm(rows, 2)),
                load=joint.joint_load(problem.graph, weights),
                factor=self.C,
            ),
            movement=self.moved(self.lengths, looks),
            price=self.moved(self.prices, looks),
            looks=looks,
            assumes="losses made of shared factors (Assumption D), parameters within factor_norm",
        )
        return row, lam

    def covariance(self) -> Array:
        """The diagonal of a matrix above any covariance of the noise, (m,): s_i sum_j s_j.

        The sum is over the criteria of the component, and by Cauchy and Schwarz
        (sum_i u_i s_i)^2 <= sum_j s_j sum_i s_i u_i^2.
        """
        above = np.empty(self.problem.criteria)
        for _, criteria in self.problem.graph.components():
            above[criteria] = self.sigma[criteria] * self.sigma[criteria].sum()
        return above

    def adaptive(self, gamma: ArrayLike, reads: int) -> tuple[Bound, int, float]:
        """Learning the graph first; the rounds of the warm-up, and the horizon at which it pays."""
        name, problem = "AdaptiveGraphLinUCB", self.problem
        least = per_item(gamma, problem.criteria, "gamma", "criterion", low=0.0, strict=True)
        keep = whole(reads, "reads", low=1)
        if not Edges(problem).open.any():
            return Bound(name=name, lacks="no scope has a knob that could leave it"), 0, np.inf
        try:
            check_nested(problem)
            told = adaptive.kappa(problem)
            learned = Case(
                on_graph(problem, _shrunk(problem, keep)),
                self.T,
                radius=self.radius,
                reg=self.reg,
                factor=self.C,
            )
        except InvalidInput as error:
            return Bound(name=name, lacks=f"it is not possible here: {error}"), 0, np.inf
        if told == 0.0:
            return Bound(name=name, lacks="some dependency cannot be seen at all"), 0, np.inf
        each = zip(self.radii(self.T, share=0.5), least, strict=True)
        tau = int(np.ceil(max(adaptive.warmup_rounds(b, kappa=told, gamma=g) for b, g in each)))
        tour = DESIGN * int(problem.dims.max())
        spent = adaptive.adaptive_regret(
            tau, 0.0, worst=self.worst, path=tour * float(self.prices.sum()), move_cost=1.0
        )
        pays = adaptive.break_even(
            spent, learned=lambda T: learned.cost(T, share=0.25), given=self.cost
        )
        pays = max(pays, tau)  # the cost is that of the whole warm-up
        looks = learned.looks(self.T)
        row = bounded(
            name=name,
            regret=tau * self.worst + learned.regret(self.T, factor=self.C, share=0.25),
            movement=tour * float(self.lengths.sum()) + self.moved(self.lengths, looks),
            price=tour * float(self.prices.sum()) + self.moved(self.prices, looks),
            looks=looks + tour,
            assumes=(
                f"dependencies of size gamma or none (B), {keep} per criterion, and a warm-up "
                "that tells as much as uniform draws (C)"
            ),
        )
        return row, tau, pays


def descent(
    problem: Problem, horizon: int, *, lipschitz: float, budget: int | None
) -> tuple[Bound, float]:
    """Gradient descent in blocks, and the step that makes regret and price together least."""
    name, domain, T = "LazyOGD", problem.domain, whole(horizon, "horizon", low=1)
    G = number(lipschitz, "lipschitz", low=0.0, strict=True)
    M = T if budget is None else whole(budget, "budget", low=1)
    (q,) = ogd.freeze_factor(M, T)
    if isinstance(domain, BoundBox) and domain.leveled.size:
        return Bound(name=name, lacks="knobs with levels have no gradient steps"), 0.0
    D, drag = domain.diameter_l2, float(np.linalg.norm(problem.move_cost))
    eta = D / np.sqrt(T * (G**2 * q + 2.0 * drag * G))
    path = ogd.ogd_path(problem.knobs, T, lipschitz=G, step=eta)
    longest = float(_lengths(problem, np.ones(problem.knobs)).sum())
    dearest = float(_lengths(problem, problem.move_cost).sum())
    row = bounded(
        name=name,
        regret=ogd.ogd_regret(D, T, lipschitz=G, budget=M, step=eta),
        movement=min(path, M * longest),
        price=min(float(drag * eta * G * T), M * dearest),
        looks=M,
        expected_looks=T // int(q),
        assumes="convex losses, whose gradients are told and no longer than lipschitz",
    )
    return row, float(eta)


def _lengths(problem: Problem, price: Array) -> Array:
    """Each knob's part in the largest price of a move: the sum over a scope is that of the scope.

    A ball in n knobs has the diameter 2 |price|, shared among its knobs.
    """
    domain = problem.domain
    of = domain.components
    across = np.bincount(of, (price * (domain.high - domain.low)) ** 2)
    return np.asarray(np.sqrt(across)[of] / np.bincount(of)[of])


def _shrunk(problem: Problem, reads: int) -> Graph:
    """The graph with this number of knobs, or balls, in every scope, its centre among them."""
    graph, unit = problem.graph, units(problem)
    scopes = []
    for i in range(graph.criteria):
        scope = graph.scope(i)
        mine = np.unique(unit[scope])
        if graph.centres is not None:
            mine = np.r_[unit[graph.centres[i]], mine[mine != unit[graph.centres[i]]]]
        scopes.append(scope[np.isin(unit[scope], mine[:reads])].tolist())
    centres = None if graph.centres is None else graph.centres.tolist()
    return Graph.from_scopes(scopes, knobs=graph.knobs, centres=centres)
