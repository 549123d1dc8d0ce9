"""The prior in function space: V0, what is learned of spread and noise, and what follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.polynomial.legendre import legval
from scipy.stats import multivariate_normal

import trimtab as tt
from benchmarks import calibration
from trimtab.arrays import Array
from trimtab.learn import NodewiseEstimators
from trimtab.learn import prior as priors
from trimtab.learn.beliefs import CUT, HOLD
from trimtab.learn.empirical_bayes import SPREAD, SPREAD_SD, learned
from trimtab.learn.statistics import unpack
from trimtab.policies import alarm


def ring(k: int) -> tt.Graph:
    return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


def legendre(s: Array, n: int) -> Array:
    """The shifted Legendre polynomial of degree n, orthonormal on [0, 1]."""
    return np.asarray(np.sqrt(2 * n + 1) * legval(2.0 * s - 1.0, np.eye(n + 1)[n]))


def K_of(problem: tt.Problem, i: int) -> Array:
    bound = tt.Prior().bind(problem)
    d, start = int(problem.dims[i]), 0
    for size in problem.dims[:i].tolist():
        start += (size + 1) * (size + 2) // 2
    R = unpack(bound.roots[bound.usual], start, d + 1)[:d, :d]
    return np.asarray(R @ R.T)


# V0.


def test_the_prior_is_one_of_functions_whatever_the_features() -> None:
    """The covariance of losses at two states is that of orthonormal polynomials."""
    problem = tt.Problem(
        tt.Graph.from_scopes([[0, 1]], knobs=2), basis=tt.bases.Quadratic()
    )  # normalised quadratics
    K = K_of(problem, 0)
    rng = np.random.default_rng(0)
    for _ in range(5):
        s, t = rng.random(2), rng.random(2)
        found = problem.phi(s) @ np.linalg.solve(K, problem.phi(t))
        expected: Any = priors.CONSTANT**2
        for j in range(2):
            for n in (1, 2):
                sd = priors.ALONE[n - 1]
                expected += sd**2 * legendre(s[j], n) * legendre(t[j], n)
        both = [legendre(x[0], 1) * legendre(x[1], 1) for x in (s, t)]
        expected += priors.TOGETHER**2 * both[0] * both[1]
        assert found == pytest.approx(expected, rel=1e-5)


def test_the_mean_is_a_bowl_around_the_middle() -> None:
    problem = tt.Problem(tt.Graph.from_scopes([[0, 1]], knobs=2), basis=tt.bases.Quadratic())
    mean = tt.Prior().bind(problem).mean
    for s in np.random.default_rng(1).random((5, 2)):
        expected = priors.BOWL * (legendre(s[0], 2) + legendre(s[1], 2))
        assert problem.phi(s) @ mean == pytest.approx(expected, abs=1e-6)


def test_the_prior_of_a_part_of_the_scope_is_a_block_of_the_whole() -> None:
    """D depends on the degree only, so that a criterion restricted to some knobs keeps its own."""
    both = tt.Problem(
        tt.Graph.from_scopes([[0, 1]], knobs=2), basis=tt.bases.Polynomial(2, normalize=False)
    )
    alone = tt.Problem(
        tt.Graph.from_scopes([[0]], knobs=1), basis=tt.bases.Polynomial(2, normalize=False)
    )
    covariance = np.linalg.inv(K_of(both, 0))
    s, t = 0.3, 0.8
    whole, part = (
        [problem.phi(np.array([x] + [0.5] * (problem.knobs - 1))) for x in (s, t)]
        for problem in (both, alone)
    )
    middle = both.phi(np.array([0.5, 0.5]))
    change = [phi - middle for phi in whole]
    small = alone.phi(np.array([0.5]))
    found = change[0] @ covariance @ change[1]
    expected = (part[0] - small) @ np.linalg.inv(K_of(alone, 0)) @ (part[1] - small)
    assert found == pytest.approx(expected, rel=1e-5)


BASES: list[tuple[tt.Problem, str]] = [
    (tt.Problem(ring(3)), "quadratic"),
    (tt.Problem(ring(3), basis=tt.bases.PairwiseQuadratic()), "pairwise"),
    (tt.Problem(ring(3), basis=tt.bases.Polynomial(4)), "polynomial"),
    (tt.Problem(ring(3), basis=tt.bases.Linear()), "linear"),
    (tt.Problem(ring(3), basis=tt.bases.FourierFeatures(12)), "fourier"),
    (tt.Problem(ring(3), domain=tt.Box(levels={0: [0.0, 1.0]})), "binary knob"),
    (
        tt.Problem(
            ring(3),
            basis=tt.bases.Custom(
                function=lambda i, x: [1.0, x[0]],
                jacobian=lambda i, x: [[0.0] * x.size, [1.0] + [0.0] * (x.size - 1)],
                bound=2.0,
            ),
        ),
        "custom",
    ),
    (
        tt.Problem(
            tt.Graph.from_scopes([[0, 1]], knobs=2),
            basis=tt.bases.Linear(),
            domain=tt.Balls([[0, 1]]),
        ),
        "balls",
    ),
]


@pytest.mark.parametrize(("problem", "name"), BASES, ids=[name for _, name in BASES])
@pytest.mark.slow
def test_every_basis_has_a_prior_and_every_policy_plays_with_it(
    problem: tt.Problem, name: str
) -> None:
    start = problem.domain.anchor
    rng = np.random.default_rng(1)
    for kind in (tt.LinUCB, tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB, tt.SteadyGraphLinUCB):
        policy = kind(problem, start=start)
        for _ in range(25):
            state = policy.ask()
            assert problem.domain.contains(state)
            losses = float(((state - 0.3) ** 2).sum()) + 0.05 * rng.standard_normal(
                problem.criteria
            )
            policy.tell(losses)
        assert policy.learner.scales is not None
        assert not policy.certificate.certified


def data(problem: tt.Problem, n: int = 12, seed: int = 3) -> tuple[NodewiseEstimators, Any]:
    """Estimators with a prior that have seen some states, and what they have seen."""
    rng = np.random.default_rng(seed)
    start = rng.random(problem.knobs)
    found = NodewiseEstimators(
        problem,
        reg=np.ones(problem.criteria),
        factor=2.0,
        state=start,
        prior=tt.Prior().bind(problem),
    )
    seen = []
    for state in [start, *rng.random((n, problem.knobs))]:
        found.deploy(state, problem.all_criteria)
        losses = 2.0 + rng.standard_normal(problem.criteria)
        count = rng.integers(1, 4, problem.criteria)
        found.add(losses, count)
        found.flush(problem.all_criteria)
        seen.append((problem.phi(state), losses, count))
    return found, seen


def test_V_begins_anew_where_it_is_told_with_all_data() -> None:
    problem = tt.Problem(ring(4), basis=tt.bases.Quadratic())
    found, seen = data(problem)
    ratio = np.array([0.5, 0.01, 2.0, 1e-4])
    sigma = np.array([0.1, 0.2, 0.3, 0.4])
    found.start_at(ratio, sigma, tt.Prior().bind(problem).usual)
    offsets, mean = problem.features.offsets, tt.Prior().bind(problem).mean
    assert np.abs(mean).max() > 0.1
    for i in range(4):
        mine = slice(offsets[i], offsets[i + 1])
        V = ratio[i] * K_of(problem, i)
        b = V @ mean[mine] * sigma[i] / np.sqrt(ratio[i])  # the spread is sigma / sqrt(r)
        for phi, losses, count in seen:
            V = V + count[i] * np.outer(phi[mine], phi[mine])
            b = b + count[i] * (losses[i] - seen[0][1][i]) * phi[mine]  # the first loss counts as 0
        np.testing.assert_allclose(found.V(i), V, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(found.theta(i), np.linalg.solve(V, b), rtol=1e-5, atol=1e-6)
        _, logdet = np.linalg.slogdet(V)
        _, before = np.linalg.slogdet(ratio[i] * K_of(problem, i))
        assert found.stats.gain[i] == pytest.approx(logdet - before, abs=1e-6)


# Spread and noise.


def test_the_likelihood_is_that_of_the_losses() -> None:
    """Spread and noise come from the joint density of all losses, computed directly here."""
    problem = tt.Problem(
        tt.Graph.from_scopes([[0, 1]], knobs=2), basis=tt.bases.Quadratic(), weights=[2.0]
    )
    found, seen = data(problem)
    spread, sigma = 3.0, 0.7
    prior = tt.Prior().bind(problem)
    phi = np.array([each[0] for each in seen])
    y = np.array([each[1][0] - seen[0][1][0] for each in seen])
    n = np.array([each[2][0] for each in seen], np.float64)

    def log_density(S: float, noise: float) -> float:
        """Of the losses less their weighted mean: their level is wholly unknown."""
        rest = y - S * phi @ prior.mean
        covariance = S**2 * phi @ np.linalg.solve(K_of(problem, 0), phi.T) + np.diag(noise**2 / n)
        null = np.linalg.svd(np.ones((1, y.size)))[2][1:]  # contrasts
        return float(
            multivariate_normal(np.zeros(y.size - 1), null @ covariance @ null.T).logpdf(
                null @ rest
            )
        )

    from trimtab.learn import empirical_bayes as eb

    ((criteria, spectrum),) = eb._spectra(
        found.stats, found.stats.alone, np.zeros(1), prior, prior.roots[prior.usual]
    )
    tables = []
    for S, noise in ((spread, sigma), (1.0, 0.2), (0.3, 2.0)):
        guess = np.array([noise]) / np.exp(eb.NOISES[6])
        table = eb._table(spectrum, guess, np.array([S / prior.unit[0]]), 1.0, prior, criteria)
        around = np.log(noise / prior.unit[0]) / eb.NOISE_SD
        # Means of n rounds: the squares about them are in the noise alone.
        rest = (n.sum() - n.size) * np.log(noise)
        tables.append(float(table[0, 0, 6]) + 0.5 * around**2 + rest)
    expected = [log_density(*each) for each in ((spread, sigma), (1.0, 0.2), (0.3, 2.0))]
    np.testing.assert_allclose(np.diff(tables), np.diff(expected), rtol=1e-5)


def test_spread_and_noise_are_found() -> None:
    problem = tt.Problem(ring(6), basis=tt.bases.Quadratic())
    truth = tt.worlds.quadratic(ring(6), seed=4)
    policy = tt.LazyGraphLinUCB(problem, start=[0.5] * 6)
    rng = np.random.default_rng(2)
    for _ in range(60):
        policy.place(rng.random(6))
        for _ in range(3):
            policy.learner.observe(
                5.0 + truth.mean(policy.ask()) + 0.2 * rng.standard_normal(6), played=None, count=1
            )
    policy.learner.absorb(problem.all_criteria)
    scales = policy.learner.scales
    assert scales is not None
    np.testing.assert_allclose(scales.sigma, 0.2, rtol=0.25)
    assert scales.doubt < 0.2
    values = [truth.mean(rng.random(6)) for _ in range(500)]
    assert 0.15 < scales.spread[0] / np.ptp(values, axis=0).mean() < 3.0


def test_what_is_told_is_not_learned() -> None:
    problem = tt.Problem(ring(4))
    found, _ = data(problem)
    told = tt.Prior(spread=2.0, sigma=0.3).bind(problem)
    scales = learned(found.stats, found.stats.alone, told, None, np.zeros(4))
    np.testing.assert_array_equal(scales.spread, 2.0)
    np.testing.assert_array_equal(scales.sigma, 0.3)
    assert scales.doubt == 0.0


def test_nothing_is_known_of_the_spread_at_one_state() -> None:
    problem = tt.Problem(ring(4))
    policy = tt.SteadyGraphLinUCB(problem, start=[0.5] * 4, alarm=False)
    rng = np.random.default_rng(0)
    for _ in range(50):
        policy.learner.observe(rng.standard_normal(4), played=None, count=1)
    policy.learner.absorb(problem.all_criteria)
    scales = policy.learner.scales
    assert scales is not None
    assert scales.doubt > 0.9 * SPREAD_SD  # never frozen for lack of evidence
    assert 0.5 * SPREAD < np.median(scales.spread / scales.sigma) < 2.0 * SPREAD


def path(policy: Any, scale: Array, shift: Array, rounds: int) -> tuple[Array, list[str]]:
    world = tt.worlds.quadratic(ring(5), seed=7)
    rng = np.random.default_rng(5)
    states, causes = [], []
    for _ in range(rounds):
        states.append(policy.ask())
        losses = scale * (world.mean(policy.ask()) + 0.1 * rng.standard_normal(5)) + shift
        causes.append(policy.tell(losses).cause)
    return np.array(states), causes


@pytest.mark.parametrize(
    "kind", [tt.LinUCB, tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB, tt.SteadyGraphLinUCB]
)
@pytest.mark.parametrize("scale", [[2.0, 8.0, 0.5, 1.0, 4.0], [3.7, 0.011, 59.0, 1.0, 700.0]])
@pytest.mark.slow
def test_rescaled_and_shifted_losses_change_no_decision(kind: Any, scale: list[float]) -> None:
    a, b = np.array(scale), np.array(scale) * [32.0, -8.0, 1.0, 0.0, 128.0]
    rounds = 40 if kind is tt.LinUCB else 100
    plain = kind(tt.Problem(ring(5), move_cost=0.5), start=[0.2] * 5)
    other = kind(tt.Problem(ring(5), move_cost=0.5, weights=1.0 / a), start=[0.2] * 5)
    first, why = path(plain, np.ones(5), np.zeros(5), rounds)
    second, too = path(other, a, b, rounds)
    assert len(np.unique(first, axis=0)) > 5
    assert why == too
    np.testing.assert_allclose(second, first, atol=1e-5)


@pytest.fixture(scope="module")
def coverage() -> Array:
    """What `calibration.covered` finds in 60 worlds of each of its problems, 70 rounds."""
    problems = calibration.PROBLEMS.values()
    parts = [calibration.measured(each, 60, first=0, rounds=70) for each in problems]
    return np.concatenate(parts)


@pytest.mark.slow
@pytest.mark.parametrize("where", range(len(calibration.WHERE)))
@pytest.mark.parametrize("looks", range(3))
def test_intervals_cover_what_they_should(coverage: Array, where: int, looks: int) -> None:
    """Parameters and noise drawn from the prior, both learned: 90 % intervals, 87 to 94 %.

    In each of the first bins of looks after ten losses. In 300 worlds of the first problem, 300
    rounds each, the bins cover 89 to 93 %; with 180 worlds a share has a standard error of 0.7 %,
    so that one leaves the band with a probability below 1e-3.
    """
    found, error = calibration.share(coverage[:, :, where, looks])
    assert error < 0.01
    assert 0.87 < found < 0.94, (found, error)


# Which V0 when.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": tt.Prior(), "reg": 1.0}, "prior with radius or reg"),
        ({"prior": tt.Prior(), "radius": 1.0}, "prior with radius or reg"),
        ({"reg": 1.0}, "reg without radius"),
    ],
)
def test_contradictions_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(tt.InvalidInput, match=message):
        tt.SteadyGraphLinUCB(tt.Problem(ring(3)), start=[0.5] * 3, **options)


@pytest.mark.parametrize("bad", [{"spread": 0.0}, {"sigma": -1.0}, {"spread": [1.0, np.nan]}])
def test_a_prior_refuses_what_is_no_scale(bad: dict[str, Any]) -> None:
    with pytest.raises(tt.InvalidInput):
        tt.Prior(**bad)


def test_the_start_state_stays_until_the_noise_has_shown_itself() -> None:
    policy = tt.SteadyGraphLinUCB(tt.Problem(ring(3)), start=[0.2] * 3)
    rng = np.random.default_rng(0)
    causes = [policy.tell(rng.standard_normal(3)).cause for _ in range(HOLD)]
    assert causes == ["none"] * (HOLD - 1) + ["trigger"]


# Within.


def test_within_limits_every_answer() -> None:
    world = tt.worlds.quadratic(ring(4), seed=1)
    policy = tt.SteadyGraphLinUCB(world.problem, start=[0.9] * 4)
    rng = np.random.default_rng(0)
    policy.within(0.6, [0.95, 0.95, 1.0, 0.7])
    np.testing.assert_array_equal(policy.ask(), [0.9, 0.9, 0.9, 0.7])  # moved inside at once
    for t in range(150):
        state = policy.ask()
        assert (state >= 0.6).all()
        assert (state <= [0.95, 0.95, 1.0, 0.7]).all()
        policy.tell(world.draw(state, rng, t))
    assert policy.rounds == 150
    policy.within(None, None)
    for t in range(400):
        policy.tell(world.draw(policy.ask(), rng, t))
    assert policy.ask().min() < 0.6


def test_within_is_for_boxes_and_leaves_every_knob_a_value() -> None:
    policy = tt.SteadyGraphLinUCB(
        tt.Problem(ring(3), domain=tt.Box(levels={1: [0.0, 0.5, 1.0]})), start=[0.5] * 3
    )
    with pytest.raises(tt.InvalidInput, match=r"knob 1 has no value between 0\.1 and 0\.4"):
        policy.within(0.1, 0.4)
    np.testing.assert_array_equal(policy.ask(), 0.5)
    with pytest.raises(tt.InvalidInput, match="only a box"):
        tt.LazyGraphLinUCB(BASES[-1][0], start=[0.0, 0.0]).within(0.0, 0.5)


@pytest.mark.parametrize("path", ["rounds", "events"])
def test_within_holds_for_local_updates_as_well(path: Any) -> None:
    world = tt.worlds.quadratic(ring(6), seed=4, basis=tt.bases.PairwiseQuadratic())
    radius = tt.Confidence(sigma=0.1, norm=world.norms)
    policy = tt.AsyncLazyGraphLinUCB(
        world.problem, start=[0.5] * 6, radius=radius, cold_start="keep"
    )
    policy.within(0.3, 0.6)
    trace = tt.play(policy, world, horizon=2000, seed=1, path=path)
    assert trace.moves > 5
    assert 0.3 <= trace.states.min() < trace.states.max() <= 0.6


def test_limits_prior_and_segments_are_part_of_a_snapshot() -> None:
    world = tt.worlds.quadratic(ring(4), seed=3)
    policy = tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 4)
    policy.within(0.2, 0.9)
    rng = np.random.default_rng(1)
    for t in range(37):
        policy.tell(world.draw(policy.ask(), rng, t))
    again = tt.restore(world.problem, policy.snapshot())
    for t in range(200):
        losses = world.draw(policy.ask(), rng, t)
        told, same = policy.tell(losses), again.tell(losses)
        assert told.cause == same.cause
        np.testing.assert_array_equal(policy.ask(), again.ask())


# Wild losses and changes.


def test_a_wild_loss_is_cut_and_what_was_cut_is_known() -> None:
    problem = tt.Problem(tt.Graph.complete(1))
    policy = tt.SteadyGraphLinUCB(problem, start=[0.5])
    rng = np.random.default_rng(0)
    for _ in range(40):
        policy.tell(0.1 * rng.standard_normal(1))
    stats = policy.learner.estimators.stats
    state, before = policy.ask(), policy.learner.estimators.frozen()[1] * 1.0
    policy.tell([50.0])
    assert stats.cut[0] == 1
    assert stats.excess[0] == pytest.approx(50.0 - stats.high[0])
    assert stats.high[0] - stats.low[0] < 2.5 * CUT * 0.2
    n, after = policy.learner.estimators.frozen()
    assert np.array_equal(state, policy.ask())
    assert n[0] * (after - before)[0] < 1.0  # not 50


def play_on(policy: tt.SteadyGraphLinUCB, means: Any, rounds: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    causes: list[str] = []
    for _ in range(rounds):
        m = policy.problem.criteria
        spikes = np.where(rng.random(m) < 0.02, rng.choice([-2.0, 2.0], m), 0.0)
        causes.append(
            policy.tell(means(policy.ask()) + 0.1 * rng.standard_normal(m) + spikes).cause
        )
    return causes


def test_spikes_ring_nothing_and_changes_do() -> None:
    worlds = [tt.worlds.quadratic(ring(4), seed=seed) for seed in (1, 2)]
    policy = tt.SteadyGraphLinUCB(worlds[0].problem, start=[0.5] * 4)
    assert "alarm" not in play_on(policy, worlds[0].mean, 1000, 0)
    gain = policy.learner.estimators.stats.gain.sum()
    causes = play_on(policy, lambda s: worlds[1].mean(s) + 1.0, 300, 1)
    assert "alarm" in causes
    assert policy.learner.estimators.stats.gain.sum() < gain + 1.0  # it widened
    assert alarm.RING > 0.0


def test_single_losses_are_played_one_by_one() -> None:
    world = tt.worlds.quadratic(ring(4), seed=1)
    policy = tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 4)
    assert tt.play(policy, world, horizon=200, seed=1).horizon == 200
    with pytest.raises(tt.InvalidInput, match="cuts single losses"):
        tt.play(policy, world, horizon=200, path="events")


def test_knobs_that_hardly_matter_stay_where_they_are() -> None:
    """Of a move the smallest changes are given up, for at most a tenth of the width."""
    world = tt.worlds.quadratic(ring(6), seed=2)
    rng = np.random.default_rng(3)
    policy = tt.SteadyGraphLinUCB(world.problem, start=[0.1] * 6)
    kept = whole = 0
    for t in range(200):
        told = policy.tell(world.draw(policy.ask(), rng, t))
        if told.record is not None and not told.record.held:
            kept, whole = kept + told.record.knobs.size, whole + 6
            lcb = policy.learner.lcb
            assert told.record.gap <= 0.5 * lcb.width(policy.ask()) + 1e-9
    assert 0 < kept < 0.8 * whole
