"""A sliding window: what is older does not count, to the last digit of a slower route."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab.errors import InvalidInput

RING = tt.Graph.from_edges(3, [(0, 1), (1, 2), (2, 0)])
BASIS = tt.bases.PairwiseQuadratic()
FIRST, SECOND = (tt.worlds.quadratic(RING, basis=BASIS, seed=s, move_cost=0.5) for s in (1, 5))
REG = np.array([1.0, 0.5, 2.0])


def steady(**options: Any) -> tt.SteadyGraphLinUCB:
    given: dict[str, Any] = {"start": [0.5] * 3, "radius": 0.5, "reg": REG} | options
    return tt.SteadyGraphLinUCB(FIRST.problem, **given)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_matrices_are_those_of_the_last_rounds(missing: float) -> None:
    W, policy, rng = 60, steady(window=60), np.random.default_rng(0)
    rows: list[list[Any]] = []  # last round, state, losses of a stretch or of one datum elsewhere
    stretch: list[Any] = []
    checked = 0
    for t in range(1, 400):
        state = policy.ask()
        losses = FIRST.draw(state, rng, t)
        losses[rng.random(3) < missing] = np.nan
        stretch.append(losses)
        told = policy.tell(losses)
        if told.cause != "none":
            rows.append([t, state, stretch])
            rows = [row for row in rows if row[0] > t - W]
            stretch = []
            for i in range(3):
                V, b = REG[i] * np.eye(int(FIRST.problem.dims[i])), 0.0
                lo, hi = FIRST.problem.features.offsets[i : i + 2]
                for _, x, seen in rows:
                    phi = FIRST.problem.phi(x)[lo:hi]
                    mine = [y[i] for y in seen if not np.isnan(y[i])]
                    V, b = V + len(mine) * np.outer(phi, phi), b + phi * sum(mine)
                np.testing.assert_allclose(policy.learner.estimators.V(i), V, rtol=1e-9, atol=1e-12)
                theta = np.linalg.solve(V, b * np.ones(len(V)))
                np.testing.assert_allclose(policy.learner.estimators.theta(i), theta, atol=1e-8)
            checked += 1
        if t % 97 == 0:  # somebody tells of another state
            x, y = rng.random(3), rng.normal(size=3)
            policy.tell(y, played=x)
            rows.append([t, x, [y]])
    assert checked > 10
    assert policy.learner.window is not None
    assert len(policy.learner.window.clock) == len(rows)


def test_a_window_that_nothing_leaves_is_no_window_bit_for_bit() -> None:
    a, b = (tt.play(p, FIRST, horizon=2000, seed=1) for p in (steady(), steady(window=10**9)))
    np.testing.assert_array_equal(a.states, b.states)
    np.testing.assert_array_equal(a.ends, b.ends)
    assert a.moves > 3


@pytest.mark.parametrize("path", ["rounds", "events"])
def test_looks_never_end_and_what_changed_is_learned_again(path: Any) -> None:
    world = tt.worlds.Drifting(
        [
            FIRST,
            tt.worlds.World(
                FIRST.problem,
                theta=np.split(SECOND.theta, FIRST.problem.features.offsets[1:-1]),
                noise=FIRST.noise,
            ),
        ],
        changes=[3001],
    )
    traces = {}
    for window in (None, 500):
        policy = steady(window=window, alarm=False)
        traces[window] = tt.play(policy, world, horizon=6000, seed=2, path=path)
        assert not policy.certificate.certified or window is None
    late = {w: float(np.diff(trace.regret_at([5000, 6000]))[0]) for w, trace in traces.items()}
    assert late[500] < 0.5 * late[None]
    assert traces[500].solves >= 12


def test_an_alarm_empties_the_window_of_its_criteria() -> None:
    radius = tt.Confidence(sigma=0.1, norm=FIRST.norms)
    policy = steady(radius=radius, reg=1.0, window=200)
    tt.play(policy, FIRST, horizon=150, seed=0)
    policy.learner.forget(np.array([1]))
    assert policy.learner.window is not None
    assert not policy.learner.window.count[:, 1].any()
    assert policy.learner.window.count[:, 0].any()
    tt.play(policy, FIRST, horizon=300, seed=1)
    np.testing.assert_array_less(0.0, np.linalg.eigvalsh(policy.learner.estimators.V(1)))


def test_snapshots_hold_the_window() -> None:
    policy = steady(window=80)
    tt.play(policy, FIRST, horizon=333, seed=0, path="rounds")
    again = tt.restore(FIRST.problem, policy.snapshot())
    a, b = (tt.play(p, FIRST, horizon=300, seed=3, path="rounds") for p in (policy, again))
    np.testing.assert_array_equal(a.states, b.states)
    assert a.moves > 0


@pytest.mark.parametrize(
    "options", [{"window": 50, "memory": 50}, {"window": 50, "radius": None, "reg": None}]
)
def test_what_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="window goes with a radius and without memory"):
        steady(**options)
    with pytest.raises(InvalidInput, match="window = 1"):
        steady(window=1)
