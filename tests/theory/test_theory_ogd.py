"""The bounds of Section 6 as functions: by hand, by a slower route, printed and corrected."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import theory
from trimtab.errors import InvalidInput
from trimtab.theory.ogd import Mode

positive = st.floats(0.01, 100)
modes = st.sampled_from(["blocks", "random"])


@st.composite
def budgets(draw: st.DrawFn) -> tuple[int, int]:
    """A horizon and a budget within it."""
    T = draw(st.integers(1, 10**6))
    return T, draw(st.integers(1, T))


def test_freeze_factor_by_hand() -> None:
    assert theory.freeze_factor([10, 30, 100], 100).tolist() == [10.0, 4.0, 1.0]
    found = theory.freeze_factor([10, 30, 100], 100, mode="random")
    np.testing.assert_allclose(found, [19.0, 17 / 3, 1.0])


@pytest.mark.parametrize("M", [1, 3, 7, 20, 60])
def test_freeze_factor_of_blocks_is_the_lag(M: int) -> None:
    """q = 1 + 2 * mean lag; the bound rounds an unfinished last block up."""
    T = 60
    B = math.ceil(T / M)
    lag = np.arange(T) % B
    q = theory.freeze_factor(M, T)[0]
    assert 1 + 2 * lag.mean() <= q
    if T % B == 0:
        assert 1 + 2 * lag.mean() == pytest.approx(q)


@pytest.mark.parametrize("p", [0.05, 0.3, 1.0])
def test_mean_lag_of_the_coin(p: float) -> None:
    """The lag is j with probability p (1 - p)^j: on average (1 - p) / p, not 1 / p."""
    j = np.arange(5000)
    lag = float((j * p * (1 - p) ** j).sum())
    assert lag == pytest.approx((1 - p) / p)
    assert theory.freeze_factor(1000 * p, 1000, mode="random")[0] == pytest.approx(1 + 2 * lag)


@given(budgets(), positive, positive, modes)
def test_the_step_makes_the_bound_least(
    case: tuple[int, int], D: float, G: float, mode: Mode
) -> None:
    T, M = case
    (eta,) = theory.ogd_step(D, T, lipschitz=G, budget=M, mode=mode)

    def bound(step: float | None) -> float:
        return theory.ogd_regret(D, T, lipschitz=G, budget=M, mode=mode, step=step)

    assert bound(eta) == pytest.approx(bound(None))
    assert bound(1.1 * eta) > bound(eta) < bound(0.9 * eta)


@given(st.integers(1, 10**6), positive, positive, modes)
def test_base_case_every_round_is_plain_gradient_descent(
    T: int, D: float, G: float, mode: Mode
) -> None:
    assert theory.ogd_step(D, T, lipschitz=G, budget=T, mode=mode)[0] == pytest.approx(
        D / (G * math.sqrt(T))
    )
    found = theory.ogd_regret(D, T, lipschitz=G, budget=T, mode=mode)
    assert found == pytest.approx(D * G * math.sqrt(T))


def test_block_bound_by_hand() -> None:
    # T = 100, M = 25: B = 4, D G sqrt(T B) = D G T / sqrt(M) = 2 * 3 * 20.
    assert theory.ogd_regret(2.0, 100, lipschitz=3.0, budget=25) == pytest.approx(120.0)
    # M = 30: still B = 4.
    assert theory.ogd_regret(2.0, 100, lipschitz=3.0, budget=30) == pytest.approx(120.0)
    by_coin = theory.ogd_regret(2.0, 100, lipschitz=3.0, budget=25, mode="random")
    assert by_coin == pytest.approx(6.0 * math.sqrt(100 * 7))
    # The coin costs sqrt(2) more when switches are rare.
    rare = [
        theory.ogd_regret(1, 10**6, lipschitz=1, budget=10, mode=m) for m in ("blocks", "random")
    ]
    assert rare[1] / rare[0] == pytest.approx(math.sqrt(2), rel=1e-4)


@given(budgets(), positive, positive)
def test_theorem_as_printed_against_the_exact_bound(
    case: tuple[int, int], D: float, G: float
) -> None:
    """With the printed step the exact bound is the printed one less D G sqrt(M / 8)."""
    T, M = case
    eta = theory.printed_ogd_step(D, T, lipschitz=G, budget=M)
    np.testing.assert_allclose(eta, D / (G * T) * math.sqrt(M / 2))
    exact = theory.ogd_regret(D, T, lipschitz=G, budget=M, mode="random", step=eta)
    printed = theory.printed_ogd_regret(D, T, lipschitz=G, budget=M)
    assert printed == pytest.approx(math.sqrt(2) * D * G * T / math.sqrt(M))
    assert exact == pytest.approx(printed - D * G * math.sqrt(M / 8))
    best = theory.ogd_regret(D, T, lipschitz=G, budget=M, mode="random")
    assert best <= exact * (1 + 1e-12)


def test_movement_as_printed_and_as_it_is() -> None:
    """k = 4, D1 = 4, M = 200, T = 2000: 40 and not 800."""
    eta = theory.printed_ogd_step(2.0, 2000, lipschitz=1.0, budget=200)
    path = theory.ogd_path(4, 2000, lipschitz=1.0, step=eta)
    assert path == pytest.approx(4.0 * math.sqrt(200 / 2))  # D1 sqrt(M / 2)
    with_movement = theory.printed_ogd_regret(4, 2000, lipschitz=1, budget=200, move_cost=1)
    assert with_movement - theory.printed_ogd_regret(4, 2000, lipschitz=1, budget=200) == (
        pytest.approx(800.0)
    )


@pytest.mark.parametrize("mode", ["blocks", "random"])
def test_total_regret_is_of_the_order_of_the_root_at_full_budget(mode: Mode) -> None:
    """Losses and movement together, at M = T: the T^(2/3) trade-off is not real."""

    def total(T: int, M: int) -> float:
        eta = theory.ogd_step(2.0, T, lipschitz=1.0, budget=M, mode=mode)
        losses = theory.ogd_regret(2.0, T, lipschitz=1.0, budget=M, mode=mode)
        return losses + theory.ogd_path(4, T, lipschitz=1.0, step=eta)

    assert total(10**6, 10**6) == pytest.approx(10 * total(10**4, 10**4))
    assert total(10**6, 10**6) < total(10**6, 10**4)  # M = T^(2/3)


def test_path_of_several_components() -> None:
    found = theory.ogd_path([1, 4], 10, lipschitz=[2.0, 1.0], step=[0.1, 0.3])
    assert found == pytest.approx(10 * (0.1 * 2 + 2 * 0.3))


@given(budgets(), positive, positive, modes)
def test_corollary_heterogeneous_budgets_is_a_sum(
    case: tuple[int, int], D: float, G: float, mode: Mode
) -> None:
    T, M = case
    together = theory.ogd_regret([D, 2.0], T, lipschitz=[G, 0.5], budget=[M, T], mode=mode)
    apart = [
        theory.ogd_regret(D, T, lipschitz=G, budget=M, mode=mode),
        theory.ogd_regret(2.0, T, lipschitz=0.5, budget=T, mode=mode),
    ]
    assert together == pytest.approx(sum(apart))


def test_expected_switches_by_enumeration() -> None:
    """Two coins matter in three rounds: the third decides about a round that is not played."""
    p = 2 / 3
    mean = sum((a + b) * p ** (a + b) * (1 - p) ** (2 - a - b) for a in (0, 1) for b in (0, 1))
    assert theory.expected_switches(2, 3)[0] == pytest.approx(mean)


@given(st.floats(0.001, 1.0), positive, positive)
def test_switching_probability_is_best_for_a_fixed_cost(eta: float, G: float, c: float) -> None:
    def cost(p: float) -> float:
        return c * p + eta * G**2 / p

    p = theory.switching_probability(eta, lipschitz=G, switch_cost=c)
    assert 0.0 < p <= 1.0
    assert cost(p) <= min(cost(x) for x in np.linspace(0.001, 1.0, 200)) * (1 + 1e-9)


def test_switching_probability_as_printed() -> None:
    printed = theory.printed_switching_probability(0.1, lipschitz=2.0, move_cost=3.0, diameter=4.0)
    assert printed == pytest.approx(math.sqrt(0.4 / 12))
    assert printed == theory.switching_probability(0.1, lipschitz=2.0, switch_cost=12.0)
    assert theory.printed_switching_probability(1, lipschitz=2, move_cost=1, diameter=1) > 1
    assert theory.switching_probability(1, lipschitz=2, switch_cost=1) == 1
    assert theory.switching_probability(1, lipschitz=2, switch_cost=0) == 1


@given(positive, positive, st.integers(1, 50), st.integers(1, 10**6), positive)
def test_scale_of_the_perturbed_leader_is_best(
    D1: float, D2: float, k: int, T: int, G: float
) -> None:
    def bound(side: float) -> float:
        return math.sqrt(k) * G**2 * D2 * T / side + D1 * side / 2

    side = theory.perturbed_leader_scale(D1, D2, k, T, lipschitz=G)
    found = theory.perturbed_leader_regret(D1, D2, k, T, lipschitz=G)
    assert found == pytest.approx(bound(side))
    assert bound(1.1 * side) > bound(side) < bound(0.9 * side)


def test_a_component_that_cannot_move_costs_nothing() -> None:
    assert theory.ogd_step(0.0, 100, lipschitz=1.0, budget=5)[0] == 0.0
    assert theory.ogd_regret(0.0, 100, lipschitz=1.0, budget=5) == 0.0
    assert theory.ogd_regret(0.0, 100, lipschitz=1.0, budget=5, step=0.0) == 0.0
    assert theory.ogd_regret(1.0, 100, lipschitz=1.0, budget=5, step=0.0) == np.inf


BAD: dict[str, tuple[str, Callable[[], Any]]] = {
    "budget above horizon": (
        "budget[0] = 11 is above the horizon 10; 10 is a move in every round",
        lambda: theory.ogd_step(1.0, 10, lipschitz=1.0, budget=11),
    ),
    "no budget": (
        "budget[1] = 0 must be at least 1",
        lambda: theory.ogd_regret(1.0, 10, lipschitz=1.0, budget=[1, 0]),
    ),
    "mode": (
        "mode = 'coin'; choose 'blocks' or 'random'",
        lambda: theory.ogd_step(1.0, 10, lipschitz=1, budget=1, mode="coin"),  # type: ignore[arg-type]
    ),
    "lipschitz": (
        "lipschitz[0] = 0 must be greater than 0",
        lambda: theory.ogd_step(1.0, 10, lipschitz=0.0, budget=1),
    ),
    "no horizon": (
        "horizon = 0; it must be at least 1",
        lambda: theory.expected_switches(1, 0),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments(case: str) -> None:
    message, call = BAD[case]
    with pytest.raises(InvalidInput, match=f"^{re.escape(message)}$"):
        call()
