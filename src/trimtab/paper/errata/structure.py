"""Counterexamples to Section 5: Assumption A, asynchronous, adaptive and joint variants."""

from __future__ import annotations

from typing import Any

import numpy as np

from trimtab.arrays import Array
from trimtab.model.bases import Custom, PairwiseQuadratic
from trimtab.model.domain import Box
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.paper.errata.entry import Finding
from trimtab.policies import AsyncLazyGraphLinUCB, LazyGraphLinUCB
from trimtab.sim import play
from trimtab.sim.worlds import Gaussian, World, quadratic

CONSTANTS = (4.0, 5.1, 6.3, 7.5)


def bonus_is_not_convex() -> Finding:
    """phi = (1, s), no data, beta = sqrt(reg) S with S = 1: the LCB's second derivative at 0."""
    bends = []
    for reg in (1.0, 1e2, 1e4, 1e6):
        beta = np.sqrt(reg)  # sqrt(reg) S: the radius holds at least that

        def lcb(s: float, beta: float = beta, reg: float = reg) -> float:
            return -float(beta * np.sqrt((1.0 + s * s) / reg))

        h = 1e-3
        bends.append((lcb(h) - 2.0 * lcb(0.0) + lcb(-h)) / h**2)
    return Finding(
        claimed=0.0,
        found=max(bends),
        holds=max(bends) < -0.99,
        text="it is " + ", ".join(f"{x:.3f}" for x in bends) + " for reg = 1, 100, 10^4, 10^6",
    )


def curvature_of_quadratics() -> Finding:
    """phi = (1, s, s^2), V = I: the second derivative of |phi| at 0, said to be 0."""
    h = 1e-3
    g = [float(np.sqrt(1 + s**2 + s**4)) for s in (-h, 0.0, h)]
    bend = (g[0] - 2 * g[1] + g[2]) / h**2
    return Finding(
        claimed=0.0, found=bend, holds=bend > 0.9, text=f"it is {bend:.3f}; printed C(phi) = 0"
    )


def path_of_four(field: float = 0.2) -> World:
    """Four knobs on a path, at 0 or 1, that want to be equal, and a little rather 0 than 1.

    The constants differ, so that no two criteria trigger in the same round: their
    neighbourhoods together would be all four knobs.
    """
    graph = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)])

    def feature(i: int, s: Array) -> list[float]:
        scope, z = graph.scope(i), 2.0 * s - 1.0
        own = float(z[scope == i][0])
        return [(CONSTANTS[i] + field * own - own * float(z[scope != i].sum())) / 10.0]

    problem = Problem(
        graph,
        basis=Custom(function=feature, bound=1.0),
        domain=Box(levels=[(0.0, 1.0)] * 4),
    )
    return World(problem, theta=[[1.0]] * 4, noise=Gaussian(0.1))


def blocks_get_stuck() -> Finding:
    """The path of four, started at 1: no neighbourhood can leave, and all knobs at 0 are better."""
    world = path_of_four()
    options: dict[str, Any] = {
        "start": [1.0] * 4,
        "radius": 0.2,
        "cold_start": "keep",
        "review": False,
    }
    found = []
    for T in (1000, 100_000):
        policy = AsyncLazyGraphLinUCB(world.problem, **options)
        found.append(play(policy, world, horizon=T, progress=False).regret / T)
    lazy = LazyGraphLinUCB(world.problem, **options)
    together = play(lazy, world, horizon=100_000, progress=False).regret / 100_000
    return Finding(
        claimed=0.0,
        found=found[1],
        holds=found[1] > 0.9 * found[0] > 0.1 and together < 0.01 * found[1],
        text=f"regret a round is {found[0]:.3f} after 1,000 rounds and {found[1]:.3f} after "
        f"100,000, "
        f"with exact solves; Algorithm 1 has {together:.5f}",
    )


def product_dependency() -> Finding:
    """mu = s_i s_j: the coefficient of s_j is 0, and the dependency is not."""
    s = np.random.default_rng(0).random((100_000, 2))
    mu = s[:, 0] * s[:, 1]
    X = np.column_stack((np.ones(len(s)), s, s[:, 0] * s[:, 1]))  # 1, s_i, s_j, s_i s_j
    theta = np.linalg.lstsq(X, mu, rcond=None)[0]
    without = np.column_stack((np.ones(len(s)), s[:, 0]))
    left = mu - without @ np.linalg.lstsq(without, mu, rcond=None)[0]
    return Finding(
        claimed=1.0,
        found=abs(float(theta[2])),
        holds=abs(theta[2]) < 1e-8 and left.std() > 0.1,
        text=f"|theta_ij| = {abs(theta[2]):.1g} is below every gamma / 2, so j is excluded; what "
        f"is "
        f"then not explained has a standard deviation of {left.std():.2f}",
    )


def contexts_under_lazy_play() -> Finding:
    """Two criteria of two knobs: the least eigenvalue of V after 10^4 and 10^6 rounds."""
    world = quadratic(Graph.complete(2), seed=1, basis=PairwiseQuadratic())
    least = []
    for T in (10**4, 10**6):
        policy = LazyGraphLinUCB(world.problem, start=[0.5] * 2, radius=1.0, review=False)
        play(policy, world, horizon=T, progress=False)
        policy.learner.absorb(world.problem.all_criteria)
        least.append(min(np.linalg.eigvalsh(policy.learner.estimators.V(i))[0] for i in range(2)))
    growth = least[1] / least[0]
    return Finding(
        claimed=100.0,
        found=growth,
        holds=growth < 10.0,
        text=f"it is {least[0]:.1f} and {least[1]:.1f}: 100 times the rounds, {growth:.1f} times "
        f"the "
        "eigenvalue",
    )


def cost_of_the_warm_up() -> Finding:
    """mu = 10 s, d = 1, iid uniform states, move_cost 1: what a warm-up round costs."""
    s = np.random.default_rng(0).random(100_000)
    regret = float(10.0 * s.mean())
    movement = float(np.abs(np.diff(s)).mean())
    return Finding(
        claimed=1.0,
        found=regret,
        holds=regret > 4.9 and movement > 0.33,
        text=f"{regret:.1f} of regret a round where sqrt(d) = 1, and {movement:.2f} of movement a "
        "round that the bound leaves out",
    )


def overshoot_of_the_joint_trigger() -> Finding:
    """Three isolated criteria with unit features, reg = 1: the determinant after one round."""
    ratio = float(np.linalg.det(np.eye(3) + np.eye(3)))
    return Finding(
        claimed=4.0,
        found=ratio,
        holds=ratio > 4.0,
        text=f"one round multiplies it by {ratio:g} = 2^3; the proof allows 4",
    )


def singular_covariance() -> Finding:
    """Two criteria that read both knobs: the covariance of the latent noise."""
    A = np.ones((2, 2))
    det = float(np.linalg.det(A @ A.T))
    return Finding(
        claimed=1.0,
        found=det,
        holds=abs(det) < 1e-12,
        text=f"its determinant is {det:g}: there is no inverse to weigh the losses by",
    )


def printed_ratio_of_widths() -> Finding:
    """Thirty isolated criteria, d = 2: joint over node-wise confidence width."""
    k, d, T, delta = 30, 2, 10_000, 0.05
    gain = d * np.log1p(T / d)
    w = np.sqrt(d / T)
    node = k * np.sqrt(gain + 2 * np.log(k / delta)) * w
    joint = np.sqrt(k * gain + 2 * np.log(1 / delta)) * np.sqrt(k) * w
    ratio, printed = float(joint / node), float(np.sqrt(k))
    return Finding(
        claimed=printed,
        found=ratio,
        holds=ratio < 1.0,
        text=f"printed {printed:.1f}, and it is {ratio:.2f}: the joint estimate is not worse",
    )
