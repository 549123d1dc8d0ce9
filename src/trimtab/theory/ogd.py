r"""Bounds of randomised and blockwise lazy gradient descent (Section 6).

Symbols: T the horizon, M the budget of switches, p = M / T, G the Lipschitz constant of the
losses, D the largest distance from the start to a state, eta the step. Distances, constants,
budgets and steps are numbers, or one per component of a product domain.

Both schedules obey

    R <= sum_i D_i^2 / (2 eta_i) + eta_i G_i^2 T q_i / 2

where q, the `freeze_factor`, is all that tells one from the other. The functions named
`printed_...` are the paper's own.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from trimtab.arrays import Array, ArrayLike, floats, number, per_item, refuse_where, whole
from trimtab.errors import InvalidInput

Mode = Literal["blocks", "random"]


def freeze_factor(budget: ArrayLike, horizon: int, *, mode: Mode = "blocks") -> Array:
    r"""How many times the squared gradients count when the deployed state lags: q.

    In blocks of B = ceil(T / M) rounds the state lags by (B - 1) / 2 rounds on average, so
    q = 1 + 2 (B - 1) / 2 = B. With a coin of probability p it lags by (1 - p) / p, so
    q = 1 + 2 (1 - p) / p = 2 / p - 1. At M = T both are 1, as in plain gradient descent.

    Deviation: the paper takes 1 / p for the mean lag of the coin, which gives
    q = 1 + 2 / p, and 3 instead of 1 at M = T.

    >>> freeze_factor([10, 100], 100), freeze_factor([10, 100], 100, mode="random")
    (array([10.,  1.]), array([19.,  1.]))
    """
    T = whole(horizon, "horizon", low=1)
    M = _budgets(budget, T, _components(budget=budget))
    if mode not in ("blocks", "random"):
        raise InvalidInput(f"mode = {mode!r}; choose 'blocks' or 'random'")
    return np.ceil(T / M) if mode == "blocks" else 2.0 * T / M - 1.0


def ogd_step(
    distance: ArrayLike,
    horizon: int,
    *,
    lipschitz: ArrayLike,
    budget: ArrayLike,
    mode: Mode = "blocks",
) -> Array:
    r"""The step that makes `ogd_regret` least: eta = D / (G sqrt(T q)).

    >>> ogd_step(2.0, 100, lipschitz=1.0, budget=100)
    array([0.2])
    """
    D, G, M = _lists(distance, lipschitz, budget, horizon)
    return np.asarray(D / (G * np.sqrt(horizon * freeze_factor(M, horizon, mode=mode))))


def printed_ogd_step(
    diameter: ArrayLike, horizon: int, *, lipschitz: ArrayLike, budget: ArrayLike
) -> Array:
    r"""Theorem (sparsity budget), its step as printed: eta = (D / (G T)) sqrt(M / 2).

    The paper's D bounds the l1 and the l2 diameter, so it is the l1 diameter. At M = T the
    step is smaller than that of plain gradient descent by sqrt(2).

    >>> printed_ogd_step(4.0, 100, lipschitz=1.0, budget=50)
    array([0.2])
    """
    D, G, M = _lists(diameter, lipschitz, budget, horizon)
    return np.asarray(D / (G * horizon) * np.sqrt(M / 2.0))


def ogd_regret(
    distance: ArrayLike,
    horizon: int,
    *,
    lipschitz: ArrayLike,
    budget: ArrayLike,
    mode: Mode = "blocks",
    step: ArrayLike | None = None,
) -> float:
    r"""Theorem and Corollary, losses only: sum_i D_i^2 / (2 eta_i) + eta_i G_i^2 T q_i / 2.

    With the best step, `ogd_step`, which is the default, this is sum_i D_i G_i sqrt(T q_i):
    D G T / sqrt(M) in blocks (M a divisor of T), D G sqrt(T (2 / p - 1)) by the coin, then in
    expectation. Movement is `ogd_path`. For several components the losses need not be a sum of
    losses of the components: on a product domain <gradient, s - s*> is one, and that is enough.

    Deviation: the paper's constant is an O(.); this is exact, and holds for every M. In blocks
    it is sqrt(2) better than by the coin, and no longer an expectation.

    >>> ogd_regret(2.0, 100, lipschitz=1.0, budget=25)
    40.0
    >>> round(ogd_regret([2.0, 2.0], 100, lipschitz=1.0, budget=[25, 100], mode="random"), 2)
    72.92
    """
    D, G, M = _lists(distance, lipschitz, budget, horizon)
    q = freeze_factor(M, horizon, mode=mode)
    if step is None:
        return float((D * G * np.sqrt(horizon * q)).sum())
    eta = per_item(step, D.size, "step", "component", low=0.0, strict=False)
    reach = np.divide(D**2, 2.0 * eta, out=np.where(D > 0.0, np.inf, 0.0), where=eta > 0.0)
    return float((reach + eta * G**2 * horizon * q / 2.0).sum())


def printed_ogd_regret(
    diameter: ArrayLike,
    horizon: int,
    *,
    lipschitz: ArrayLike,
    budget: ArrayLike,
    move_cost: float = 0.0,
) -> float:
    r"""Theorem (sparsity budget) as its proof ends: lambda D M + sqrt(2) D G T / sqrt(M).

    With one each per component it is the Corollary (heterogeneous budgets), the sum of these.
    The proof drops eta G^2 T / 2 on the way as small, but has counted eta G^2 T too much for
    the lag of the coin. So the losses' part holds: with the printed step the exact bound is
    sqrt(2) D G T / sqrt(M) - D G sqrt(M / 8). The movement part, a whole diameter per
    switch, is far too large: see `ogd_path`.

    >>> round(printed_ogd_regret(2.0, 100, lipschitz=1.0, budget=25, move_cost=0.1), 2)
    61.57
    """
    D, G, M = _lists(diameter, lipschitz, budget, horizon)
    price = number(move_cost, "move_cost", low=0.0, strict=False)
    return float((price * D * M + np.sqrt(2.0) * D * G * horizon / np.sqrt(M)).sum())


def ogd_path(knobs: ArrayLike, horizon: int, *, lipschitz: ArrayLike, step: ArrayLike) -> float:
    r"""The most the deployed state moves in l1: sum_i sqrt(k_i) eta_i G_i T, k_i knobs each.

    The deployed path visits points of the virtual one, whose steps are at most eta G long, so
    this holds in both modes, for every budget.

    Deviation: the paper charges a diameter per switch, D M. With its step this is
    D1 sqrt(M / 2), and at M = T of the order sqrt(T), not T; so neither is movement linear
    there, nor is T^(2/3) the best trade-off.

    >>> ogd_path(4, 100, lipschitz=1.0, step=0.1)
    20.0
    """
    T = whole(horizon, "horizon", low=1)
    n = _components(knobs=knobs, lipschitz=lipschitz, step=step)
    k = per_item(knobs, n, "knobs", "component", low=1.0, strict=False)
    G = per_item(lipschitz, n, "lipschitz", "component", low=0.0, strict=True)
    eta = per_item(step, n, "step", "component", low=0.0, strict=False)
    return float((np.sqrt(k) * eta * G).sum() * T)


def expected_switches(budget: ArrayLike, horizon: int) -> Array:
    r"""How often the coin lets the deployed state change between rounds: (T - 1) p on average.

    The paper's M = T p counts the coin of the last round, after which nothing is played. A run
    has more switches than M with a probability that may be near 1/2: the budget holds in
    expectation only. In blocks it always holds.

    >>> expected_switches(20, 100)
    array([19.8])
    """
    T = whole(horizon, "horizon", low=1)
    M = _budgets(budget, T, _components(budget=budget))
    return np.asarray((T - 1) * M / T)


def switching_probability(step: float, *, lipschitz: float, switch_cost: float) -> float:
    r"""The p that is best when every switch costs c, whatever its length: min(1, sqrt(eta G^2/c)).

    It minimises c p T + eta G^2 T / p, for a given step.

    Deviation: the paper prices the l1 length of a switch and bounds each by the diameter. Frequent
    switches are short: by `ogd_path` the length does not grow with p, and p = 1 is best.

    >>> switching_probability(0.1, lipschitz=1.0, switch_cost=10.0)
    0.1
    """
    eta = number(step, "step", low=0.0, strict=True)
    G = number(lipschitz, "lipschitz", low=0.0, strict=True)
    c = number(switch_cost, "switch_cost", low=0.0, strict=False)
    return 1.0 if c <= eta * G**2 else float(np.sqrt(eta * G**2 / c))


def printed_switching_probability(
    step: float, *, lipschitz: float, move_cost: float, diameter: float
) -> float:
    r"""The paper's p* as printed, its constant taken as 1: sqrt(eta G^2 / (lambda D)).

    It may exceed 1. It is `switching_probability` if every switch costs lambda D.

    >>> printed_switching_probability(0.1, lipschitz=1.0, move_cost=2.5, diameter=4.0)
    0.1
    """
    eta = number(step, "step", low=0.0, strict=True)
    G = number(lipschitz, "lipschitz", low=0.0, strict=True)
    price = number(move_cost, "move_cost", low=0.0, strict=True)
    D = number(diameter, "diameter", low=0.0, strict=True)
    return float(np.sqrt(eta * G**2 / (price * D)))


def perturbed_leader_regret(
    diameter: float, diameter_l2: float, knobs: int, horizon: int, *, lipschitz: float
) -> float:
    r"""Follow the perturbed leader (Kalai, Vempala 2005), linear losses: G sqrt(2 sqrt(k) D1 D2 T).

    In expectation, with the cube of `perturbed_leader_scale`, against losses chosen without
    knowledge of the perturbation. A round costs at most G D2, with a probability of
    sqrt(k) G / scale at most, more than if it had been foreseen; and the perturbation itself
    misleads by D1 scale / 2 at most, since we centre the cube.

    >>> perturbed_leader_regret(4.0, 2.0, 4, 100, lipschitz=1.0).__round__(2)
    56.57
    """
    width = perturbed_leader_scale(diameter, diameter_l2, knobs, horizon, lipschitz=lipschitz)
    return number(diameter, "diameter", low=0.0, strict=False) * width


def perturbed_leader_scale(
    diameter: float, diameter_l2: float, knobs: int, horizon: int, *, lipschitz: float
) -> float:
    r"""The side of the cube of perturbations that makes the bound least.

    It minimises sqrt(k) G^2 D2 T / scale + D1 scale / 2.

    >>> perturbed_leader_scale(4.0, 2.0, 4, 100, lipschitz=1.0).__round__(2)
    14.14
    """
    D1 = number(diameter, "diameter", low=0.0, strict=False)
    D2 = number(diameter_l2, "diameter_l2", low=0.0, strict=False)
    k, T = whole(knobs, "knobs", low=1), whole(horizon, "horizon", low=1)
    G = number(lipschitz, "lipschitz", low=0.0, strict=True)
    return float(G * np.sqrt(2.0 * np.sqrt(k) * D2 * T / D1)) if D1 > 0.0 else G


def perturbed_leader_switches(knobs: int, horizon: int, *, lipschitz: float, scale: float) -> float:
    r"""How often the lazy leader moves, on average at most: sqrt(k) G T / scale.

    >>> perturbed_leader_switches(4, 100, lipschitz=1.0, scale=20.0)
    10.0
    """
    k, T = whole(knobs, "knobs", low=1), whole(horizon, "horizon", low=1)
    G = number(lipschitz, "lipschitz", low=0.0, strict=True)
    return float(np.sqrt(k) * G * T / number(scale, "scale", low=0.0, strict=True))


def _lists(
    distance: ArrayLike, lipschitz: ArrayLike, budget: ArrayLike, horizon: int
) -> tuple[Array, Array, Array]:
    """D, G and M of every component."""
    T = whole(horizon, "horizon", low=1)
    n = _components(distance=distance, lipschitz=lipschitz, budget=budget)
    D = per_item(distance, n, "distance", "component", low=0.0, strict=False)
    G = per_item(lipschitz, n, "lipschitz", "component", low=0.0, strict=True)
    return D, G, _budgets(budget, T, n)


def _budgets(budget: ArrayLike, T: int, n: int) -> Array:
    M = per_item(budget, n, "budget", "component", low=1.0, strict=False)
    refuse_where(M > T, M, "budget", f"is above the horizon {T}; {T} is a move in every round")
    return M


def _components(**arguments: ArrayLike) -> int:
    """How many components the arguments speak of: the size of the longest."""
    return max(floats(value, name).size for name, value in arguments.items())
