"""Recorded worlds: means that predict states left out, and noise of real windows."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks.league.recorded import EXAMPLES, FOLDER, SYSTEMS, Recorded, recorded
from benchmarks.league.smoother import smoothed
from benchmarks.proving.recording import Recording
from trimtab.arrays import Array
from trimtab.live import Spec


@cache
def recording(system: str) -> Recording:
    return Recording.read(FOLDER / f"{system}.csv.gz")


def totals(system: str, states: Array) -> Array:
    world = recorded(system)
    return np.asarray(world.means(states) @ world.problem.weights)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_recording_is_of_thousands_of_settled_windows_all_over_the_box(system: str) -> None:
    found = recording(system)
    assert found.settled.sum() >= 4000
    states = np.unique(found.states, axis=0)
    assert len(states) >= 900
    assert np.isfinite(found.values).mean() > 0.99
    for x in states.T:  # every tenth of every knob was visited
        assert np.histogram(x, bins=5, range=(0.0, 1.0))[0].min() > 50


@pytest.mark.parametrize("system", SYSTEMS)
def test_means_predict_states_that_were_left_out(system: str) -> None:
    """Fitted without a fifth of the states, the world ranks their costs as they were measured."""
    found, spec = recording(system), Spec.read(EXAMPLES / system / "spec.toml")
    out = found.number % 5 == 2
    rest = {name: getattr(found, name)[~out] for name in ("states", "values", "settled", "number")}
    world = Recorded(replace(found, **rest), spec)
    measured, predicted = [], []
    losses = found.losses(spec)
    for n in np.unique(found.number[out]):
        rows = (found.number == n) & found.settled
        state = found.states[rows][0]
        if not np.array_equal(state, spec.start.round(4)):
            measured.append(float(np.median(losses[rows] @ spec.problem.weights)))
            predicted.append(world.loss(state))
    assert len(measured) > 150
    assert spearmanr(measured, predicted).statistic > 0.9
    missed = np.array(measured) - np.array(predicted)
    assert np.median(np.abs(missed)) < 0.1 * np.median(measured)


def test_a_smoother_follows_what_no_quadratic_does_and_ignores_noise() -> None:
    rng = np.random.default_rng(1)
    states = rng.random((400, 2))
    truth = np.tanh((states[:, 0] - 0.5) / 0.1) + states[:, 1]
    noisy = np.stack((truth + 0.1 * rng.standard_normal(400), rng.standard_normal(400)), axis=1)
    bent, nothing = smoothed(states, noisy)
    fresh = rng.random((200, 2))
    expected = np.tanh((fresh[:, 0] - 0.5) / 0.1) + fresh[:, 1]
    assert np.sqrt(np.mean((bent(fresh) - expected) ** 2)) < 0.08
    assert bent.error < 0.05
    assert nothing.error > 0.9
    assert nothing(fresh).std() < 0.35


@pytest.mark.parametrize("system", SYSTEMS)
def test_noise_is_one_whole_window_whatever_the_state(system: str) -> None:
    world = recorded(system)
    rng = np.random.default_rng(5)
    states = [world.problem.domain.sample(rng) for _ in range(3)]
    for t in range(5):
        shares = []
        for state in states:
            seen = world.measured(state, np.random.default_rng((7, t)))
            values = np.array([seen[name] for name in world.metrics])
            size = world._size(state[None])[0]
            mean = world._centre(state[None])[0] + world._offset * size
            shares.append((values - mean) / size)
        for share in shares[1:]:
            np.testing.assert_allclose(share, shares[0], atol=1e-9)
        nearest = np.abs(world.misses - shares[0]).max(axis=1)
        assert nearest.min() < 1e-9  # all metrics of one window of the recording


@pytest.mark.parametrize("system", SYSTEMS)
def test_mean_and_spread_of_the_start_are_those_recorded(system: str) -> None:
    world, found = recorded(system), recording(system)
    spec = world.spec
    rows = found.settled & (np.abs(found.states - spec.start).max(axis=1) < 1e-3)
    assert rows.sum() >= 150
    measured = found.losses(spec)[rows] @ spec.problem.weights
    drawn = np.array(
        [world.draw(spec.start, np.random.default_rng((3, t))) for t in range(4000)]
    ) @ (spec.problem.weights)
    assert world.loss(spec.start) == pytest.approx(np.mean(drawn), rel=0.01)
    assert np.mean(drawn) == pytest.approx(np.mean(measured), rel=0.15)
    middle = [np.subtract(*np.percentile(x, [90, 10])) for x in (drawn, measured)]
    assert middle[0] == pytest.approx(middle[1], rel=0.4)


@pytest.mark.parametrize("system", SYSTEMS)
def test_there_is_something_to_gain(system: str) -> None:
    world = recorded(system)
    best = world.optimum
    assert world.problem.domain.contains(best.state)
    assert best.value < 0.75 * world.loss(world.spec.start)
    rng = np.random.default_rng(2)
    states = np.array([world.problem.domain.sample(rng) for _ in range(500)])
    assert (totals(system, states) >= best.value - 1e-9).all()
