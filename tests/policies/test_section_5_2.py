"""Section 5.2 to the letter: a lazy warm-up, and |theta_ij| > gamma / 2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab.errors import InvalidInput

LETTER: dict[str, Any] = {
    "design": "lazy",
    "test": "threshold",
    "cold_start": "keep",
    "review": False,
}
PLAIN: dict[str, Any] = {"cold_start": "keep", "review": False}
WORLD = tt.worlds.sparse(5, degree=2, gamma=0.4, seed=3)
START = [0.5] * 5
KNOWN: dict[str, Any] = {"radius": 1.0, "reg": 0.5}


def letter(**options: Any) -> tt.AdaptiveGraphLinUCB:
    given: dict[str, Any] = {"gamma": 0.4, "warmup": 300, "start": START} | KNOWN | LETTER | options
    return tt.AdaptiveGraphLinUCB(WORLD.problem, **given)


def lazy() -> tt.LazyGraphLinUCB:
    return tt.LazyGraphLinUCB(WORLD.problem, start=START, **KNOWN, **PLAIN)


@pytest.mark.parametrize("path", ["rounds", "auto"])
def test_with_a_gamma_that_excludes_nothing_it_is_algorithm_1_bit_for_bit(path: Any) -> None:
    policy, plain = letter(gamma=1e-12), lazy()
    a = tt.play(policy, WORLD, horizon=2000, seed=1, path=path)
    b = tt.play(plain, WORLD, horizon=2000, seed=1, path=path)
    if path == "rounds":  # by jumps the sums of the warm-up are drawn at its end
        np.testing.assert_array_equal(a.states, b.states)
        np.testing.assert_array_equal(a.ends, b.ends)
    assert not policy.warming
    assert policy.graph == WORLD.problem.graph
    assert a.solves > 5


def test_up_to_tau_it_is_algorithm_1_and_then_every_edge_is_decided_by_hand() -> None:
    policy, plain, rng = letter(), lazy(), np.random.default_rng(1)
    rows = []
    for t in range(1, 301):
        state = policy.ask()
        np.testing.assert_array_equal(state, plain.ask())
        losses = WORLD.draw(state, rng, t)
        rows.append((WORLD.problem.phi(state), losses))
        assert policy.warming
        policy.tell(losses)
        plain.tell(losses)
    assert not policy.warming
    offsets = WORLD.problem.features.offsets
    found = {(edge.criterion, edge.knob): edge for edge in policy.edges}
    decided = set()
    for i in range(5):  # a slower route: ridge regression from the rows
        own = slice(offsets[i], offsets[i + 1])
        X, y = np.array([phi[own] for phi, _ in rows]), np.array([y[i] for _, y in rows])
        theta = np.linalg.solve(X.T @ X + 0.5 * np.eye(X.shape[1]), X.T @ y)
        for j in range(5):
            if i == j:
                continue
            largest = np.abs(theta[WORLD.problem.features.owned(i, j)]).max()
            assert found[i, j].statistic == pytest.approx(largest, rel=1e-6)
            assert found[i, j].decision == ("included" if largest > 0.2 else "excluded")
            assert (j in policy.graph.scope(i)) == (largest > 0.2)
            decided.add(found[i, j].decision)
    assert decided == {"included", "excluded"}


def test_the_rest_is_algorithm_1_on_what_is_left() -> None:
    policy = letter()
    tt.play(policy, WORLD, horizon=300, seed=1, path="rounds")
    inner = policy.inner
    assert isinstance(inner, tt.LazyGraphLinUCB)
    small = inner.problem
    assert small.dims.sum() < WORLD.problem.dims.sum()
    V = [inner.learner.estimators.V(i) for i in range(5)]
    b = [V[i] @ inner.learner.estimators.theta(i) for i in range(5)]
    state, rng = policy.ask(), np.random.default_rng(2)
    for t in range(20_000):  # V and b grow by the small features of the losses, and nothing else
        losses = WORLD.draw(state, rng, t)
        policy.tell(losses)
        phi = small.phi(state)
        for i in range(5):
            own = slice(small.features.offsets[i], small.features.offsets[i + 1])
            V[i] += np.outer(phi[own], phi[own])
            b[i] += phi[own] * losses[i]
        if not np.array_equal(policy.ask(), state):
            break
        state = policy.ask()
    else:
        pytest.fail("nothing moved")
    for i in range(5):
        np.testing.assert_allclose(inner.learner.estimators.V(i), V[i], rtol=1e-9)
        theta = np.linalg.solve(V[i], b[i])
        np.testing.assert_allclose(inner.learner.estimators.theta(i), theta, atol=1e-8)
    lcb, trial = inner.learner.lcb, np.random.default_rng(0)
    value = lcb.value(policy.ask())
    assert all(lcb.value(trial.random(5)) >= value - 1e-9 for _ in range(2000))


def test_lazy_play_leaves_dependencies_undetected() -> None:
    r"""Assumption C fails under lazy play: the least eigenvalue does not grow with tau.

    So estimates stay off, and a graph that ours learns exactly is wrong after as many rounds.
    """
    radius = tt.Confidence(sigma=0.3, norm=WORLD.norms)
    known: dict[str, Any] = {"radius": radius, "reg": radius.balanced_reg}
    ours = tt.AdaptiveGraphLinUCB(WORLD.problem, start=START, gamma=0.4, **known)
    tt.play(ours, WORLD, horizon=30_000, seed=1)
    assert not ours.warming
    assert ours.graph == WORLD.truth
    printed = letter(warmup=ours.warmup.length, **known)
    tt.play(printed, WORLD, horizon=ours.warmup.length, seed=1)
    assert not printed.warming
    assert printed.graph != WORLD.truth


def test_snapshots_in_and_after_the_lazy_warm_up() -> None:
    for rounds in (1, 150, 299, 300, 301, 700):
        policy = letter()
        tt.play(policy, WORLD, horizon=rounds, seed=1, path="rounds")
        again = tt.restore(WORLD.problem, policy.snapshot())
        a, b = (
            tt.play(each, WORLD, horizon=500, seed=2, path="rounds") for each in (policy, again)
        )
        np.testing.assert_array_equal(a.states, b.states)
        assert again.snapshot()["warming"] == policy.snapshot()["warming"]


def test_rows_are_tells() -> None:
    rows = np.random.default_rng(0).normal(size=(700, 5))
    by_rows, by_tells = letter(), letter()
    done = 0
    while done < len(rows):
        taken, _ = by_rows.tell_rows(rows[done:])
        done += taken
    for row in rows:
        by_tells.tell(row)
    assert not by_rows.warming
    assert by_rows.graph == by_tells.graph
    np.testing.assert_allclose(by_rows.ask(), by_tells.ask(), atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "coin"}, "test = 'coin'; choose 'group' or 'threshold'"),
        ({"warmup": None}, "give a radius, a gamma and warmup"),
        ({"radius": None, "reg": None}, "give a radius, a gamma and warmup"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        letter(**options)


def test_each_half_can_be_had_alone() -> None:
    lazily = letter(test="group", cold_start="solve", review=True)
    tt.play(lazily, WORLD, horizon=600, seed=1)
    assert not lazily.warming
    compared = letter(design="optimal")
    tt.play(compared, WORLD, horizon=600, seed=1)
    assert not compared.edges.open.any()
