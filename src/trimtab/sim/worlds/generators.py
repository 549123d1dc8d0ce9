"""Random worlds on a graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.arrays import Array, ArrayLike, number, refuse, whole
from trimtab.errors import InvalidInput
from trimtab.model.bases import Custom, Linear, Monomials, PairwiseQuadratic, Quadratic
from trimtab.model.domain import Balls, Box
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.sim.worlds.noise import Gaussian, Noise
from trimtab.sim.worlds.registry import register
from trimtab.sim.worlds.world import World


@register
def linear(
    graph: Graph,
    *,
    seed: int = 0,
    noise: Noise | None = None,
    intercept: bool = False,
    normalize: bool = True,
    missing: float = 0.0,
    move_cost: ArrayLike = 0.0,
) -> World:
    """A random world with a linear basis: each parameter uniform on the unit sphere."""
    basis = Linear(intercept=intercept, normalize=normalize)
    problem = Problem(graph, basis=basis, move_cost=move_cost)
    rng = np.random.default_rng((whole(seed, "seed", low=0), 1))
    raw = [rng.normal(size=d) for d in problem.dims]
    theta = [x / np.linalg.norm(x) for x in raw]
    return World(problem, theta=theta, noise=noise or Gaussian(0.1), missing=missing)


@register
def quadratic(
    graph: Graph,
    *,
    seed: int = 0,
    noise: Noise | None = None,
    basis: Quadratic | PairwiseQuadratic | None = None,
    coupling: float = 0.8,
    missing: float = 0.0,
    move_cost: ArrayLike = 0.0,
) -> World:
    """A random world on a graph whose total loss is strongly convex, with conflicting criteria.

    Every squared knob of a criterion pulls it to a target of the criterion's own,
    with a curvature between 1/2 and 3/2; products of knobs couple them. `coupling`
    below 1 keeps the Hessian of the total diagonally dominant, so that the optimum
    is the only local one.

    Args:
        graph: which criterion reads which knobs.
        seed: of the random parameters.
        noise: `Gaussian(0.1)` by default.
        basis: `Quadratic` by default; `PairwiseQuadratic` is the paper's Example 1.
        coupling: the share of the diagonal that the products of a knob may take.
        missing: the probability that a loss is not observed.
        move_cost: the price of movement, kept in the problem.
    """
    coupling = number(coupling, "coupling", low=0.0, strict=False, high=1.0)
    problem = Problem(graph, basis=basis or Quadratic(), move_cost=move_cost)
    features = problem.features
    if not isinstance(features, Monomials) or not isinstance(
        problem.basis, Quadratic | PairwiseQuadratic
    ):
        raise InvalidInput(f"basis = {basis!r}; choose Quadratic() or PairwiseQuadratic()")
    maps = features.arrays
    squared = np.bincount(maps.a[maps.p == 2], minlength=problem.knobs) > 0
    refuse(
        ~squared,
        lambda j: (
            f"knob {j} has no square in any criterion, so the loss would not be convex in it; "
            "let a criterion read it, or be centred at it, or use Quadratic()"
        ),
    )
    rng = np.random.default_rng((whole(seed, "seed", low=0), 2))
    owner = np.repeat(np.arange(problem.criteria), problem.dims)
    const, single = maps.p == 0, (maps.p == 1) & (maps.q == 0)
    square, product = maps.p == 2, (maps.p == 1) & (maps.q == 1)
    # Which feature s_j goes with each s_j^2.
    knob_of = owner * problem.knobs + maps.a
    order = np.flatnonzero(single)[np.argsort(knob_of[single])]
    partner = order[np.searchsorted(knob_of[order], knob_of[square])]
    curvature = rng.uniform(0.5, 1.5, partner.size)
    target = rng.uniform(0.0, 1.0, partner.size)
    busiest = np.bincount(np.concatenate((maps.a[product], maps.b[product])), minlength=1).max()
    theta = np.zeros(owner.size)
    theta[single] = rng.uniform(-0.1, 0.1, single.sum())
    theta[square] = curvature
    theta[partner] = -2.0 * curvature * target
    theta[product] = coupling / max(busiest, 1) * rng.uniform(-1.0, 1.0, product.sum())
    theta[const] = np.bincount(owner[square], curvature * target**2, problem.criteria)
    theta /= maps.scale[owner]
    return World(
        problem,
        theta=np.split(theta, features.offsets[1:-1]),
        noise=noise or Gaussian(0.1),
        missing=missing,
    )


@register
def spin_glass(*, knobs: int = 16, seed: int = 0) -> World:
    r"""The counterexample to the asynchronous theorem: block updates get stuck in it.

    Knobs are spins z = 2s - 1 at the corners of the cube, on a random 3-regular graph.
    Criterion i has the single feature

    .. math:: \phi_i = \bigl(4 + h_i z_i + z_i \sum_{j \in N(i)} J_{ij} z_j\bigr) / 8

    with signs :math:`J_{ij} = \pm 1` and weak fields h. Only its scale theta_i is unknown,
    so nothing needs exploring, and every assumption of Theorem 1 holds; but the total
    has local minima that no neighbourhood can leave.

    >>> world = spin_glass(seed=1)
    >>> world.problem.knobs, world.problem.dims.tolist()[:3]
    (16, [1, 1, 1])
    """
    import networkx as nx

    k = whole(knobs, "knobs", low=4)
    if k % 2:
        raise InvalidInput(f"knobs = {k}; a 3-regular graph has an even number of nodes")
    seed = whole(seed, "seed", low=0)
    graph = Graph.from_networkx(nx.random_regular_graph(3, k, seed=seed))
    rng = np.random.default_rng((seed, 3))
    sign = np.triu(rng.choice([-1.0, 1.0], size=(k, k)), 1)
    J = sign + sign.T
    h = rng.normal(scale=0.1, size=k)

    def feature(i: int, s: Array) -> list[float]:
        scope = graph.scope(i)
        z = 2.0 * s - 1.0
        own = float(z[scope == i][0])
        return [(4.0 + h[i] * own + own * float(J[i, scope] @ z)) / 8.0]

    levels = Box(levels=[(0.0, 1.0)] * k)
    problem = Problem(graph, basis=Custom(function=feature, bound=1.0), domain=levels)
    return World(problem, theta=list(rng.uniform(0.5, 1.5, (k, 1))), noise=Gaussian(0.1))


@register
def hard(dims: Sequence[int], *, horizon: int, sigma: float = 1.0, seed: int = 0) -> World:
    r"""The paper's lower bound as a world: isolated linear bandits that are hard for T rounds.

    Objective i reads d_i knobs in a unit ball of their own, and

    .. math:: \mu_i(s) = \langle \theta_i, s \rangle, \qquad
        \theta_i \in \{\pm \Delta_i\}^{d_i}, \quad \Delta_i = \sigma \sqrt{d_i / (48 T)}

    with random signs. On average over them every algorithm has a regret of at least
    `theory.lower_bound` after T rounds (Lattimore and Szepesvari, Bandit Algorithms, Theorem 24.2,
    for each objective; independent objectives add up).

    >>> world = hard([2, 3], horizon=1000, seed=1)
    >>> world.problem.dims, float(round(-world.optimum.value, 4))
    (array([2, 3]), 0.0228)

    Args:
        dims: d_i, the dimension of each objective.
        horizon: T, for how many rounds it is hard, at least d_i / 2.
        sigma: the noise of a loss.
        seed: of the signs.
    """
    d = [whole(x, f"dims[{i}]", low=1) for i, x in enumerate(dims)]
    T = whole(horizon, "horizon", low=-(-max(d) // 2))
    scale = number(sigma, "sigma", low=0.0, strict=True)
    ends = np.cumsum(d).tolist()
    blocks = [list(range(end - size, end)) for end, size in zip(ends, d, strict=True)]
    problem = Problem(
        Graph.from_scopes(blocks, knobs=ends[-1]),
        basis=Linear(normalize=False),
        domain=Balls(blocks),
    )
    rng = np.random.default_rng((whole(seed, "seed", low=0), 6))
    theta = [scale * np.sqrt(x / (48.0 * T)) * rng.choice([-1.0, 1.0], size=x) for x in d]
    return World(problem, theta=theta, noise=Gaussian(scale))
