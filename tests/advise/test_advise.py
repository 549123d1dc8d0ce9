"""The advice: what it draws, plays and counts, what it chooses, and what it says."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab import theory
from trimtab.advise import simulation
from trimtab.advise.descent import adversarial_pair, descend, gradient
from trimtab.advise.ranking import _choice
from trimtab.advise.simulation import Runs, growth, late_cost, rounds_for
from trimtab.advise.situation import Situation, start_of
from trimtab.advise.worlds import Correlated, world_number
from trimtab.arrays import Array
from trimtab.model.bases import Monomials
from trimtab.model.bases.orthonormal import coordinates

NAMES = [
    "FixedState",
    "LinUCB",
    "LazyGraphLinUCB",
    "AsyncLazyGraphLinUCB",
    "SteadyGraphLinUCB",
    "PooledGraphLinUCB",
    "AdaptiveGraphLinUCB",
    "JointLazyGraphLinUCB",
    "LazyOGD",
]


def ring(k: int) -> tt.Graph:
    return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three worlds, and few rounds: what is said matters, not how good it is."""
    monkeypatch.setattr(simulation, "WORK", 0.01)
    monkeypatch.setattr(simulation, "STRATA", 3)
    monkeypatch.setattr(simulation, "LEAST_ROUNDS", 12)
    monkeypatch.setattr(simulation, "ROUNDS", 12)


def situation(problem: tt.Problem, horizon: int = 100, **known: Any) -> Situation:
    nothing: dict[str, Any] = {
        "start": None,
        "prior": tt.Prior(),
        "seed": 0,
        "sigma": None,
        "worst": None,
        "drift": False,
        "graph_known": True,
        "gamma": None,
        "reads": 1,
        "correlated": False,
        "factor_norm": None,
        "lipschitz": None,
        "budget": None,
    }
    told = nothing | known
    told["start"] = start_of(problem, told["start"])
    return Situation(problem=problem, horizon=horizon, **told)


def drawn(asked: Situation, n: int) -> tt.worlds.World:
    world = world_number(n, asked, 100)
    assert isinstance(world, tt.worlds.World)
    return world


def built(problem: tt.Problem, advice: theory.Advice) -> Any:
    """The policy that the advice is about."""
    kind = getattr(tt, advice.variant)
    where = problem.domain if kind is tt.LazyOGD else problem
    return kind(where, start=np.full(problem.knobs, 0.5), **advice.options)


# The worlds.


def test_parameters_are_drawn_from_the_prior_of_the_policies() -> None:
    """Coefficients of orthonormal polynomials are independent, with the prior's mean and deviation.

    4,000 draws are within 4.5 standard errors with probability 0.9999 in all.
    """
    problem = tt.Problem(tt.Graph.complete(2), basis=tt.bases.Quadratic(), weights=[1.0, 4.0])
    spread, rng = np.array([2.0, 0.5]), np.random.default_rng(0)
    prior = tt.Prior().bind(problem)
    theta = np.array(
        [prior.parameters(spread, rng.standard_normal(prior.mean.size)) for _ in range(4000)]
    )
    assert isinstance(problem.features, Monomials)
    for i, S in enumerate(spread):
        known = coordinates(problem.features, problem.domain, i)
        lo, hi = problem.features.offsets[i : i + 2]
        c = theta[:, lo:hi] @ known.B / S
        powers = [tuple(sorted(pair)) for pair in known.degrees.tolist()]
        sd = np.array([{(0, 0): 3.0, (0, 1): 0.3, (0, 2): 0.15, (1, 1): 0.1}[p] for p in powers])
        mean = np.array([0.2 if p == (0, 2) else 0.0 for p in powers])
        assert len(set(powers)) == 4
        assert (np.abs(c.mean(axis=0) - mean) < 4.5 * sd / np.sqrt(4000)).all()
        np.testing.assert_allclose(c.std(axis=0), sd, rtol=4.5 / np.sqrt(8000))
        off = np.corrcoef(c.T) - np.eye(sd.size)
        assert np.abs(off).max() < 4.5 / np.sqrt(4000)


def test_what_is_not_told_is_drawn_in_units_of_the_weights() -> None:
    weights = np.array([1.0, 100.0, 1.0, 1.0])
    asked = situation(tt.Problem(ring(4), weights=weights))
    sigmas = np.array([drawn(asked, n).noise.scales(asked.problem.graph) for n in range(64)])
    typical = np.exp(np.log(sigmas).mean(axis=0)) * weights
    assert (typical > 1 / 12 / 1.5).all()  # a twelfth of 1 / weight, within 4 standard errors
    assert (typical < 1 / 12 * 1.5).all()
    ranges = [np.ptp([drawn(asked, n).loss(s) for s in np.eye(4)]) for n in range(16)]
    assert 0.2 < np.median(ranges) < 5.0


def test_eight_worlds_have_noises_of_all_sizes() -> None:
    asked = situation(tt.Problem(tt.Graph.complete(1)), seed=3, sigma=np.array([0.1]))
    size = sorted(abs(drawn(asked, n).theta[1:]).sum() for n in range(8))
    assert size[-1] / size[0] > 10.0
    told = situation(tt.Problem(tt.Graph.complete(1)), worst=1e-3)
    spread = [np.ptp([drawn(told, n).loss(np.array([x])) for x in (0, 0.5, 1)]) for n in range(8)]
    assert max(spread) < 1e-2


def test_noise_and_spread_that_are_told() -> None:
    problem = tt.Problem(ring(4))
    sigma = np.array([0.1, 0.2, 0.3, 0.4])
    world = drawn(situation(problem, sigma=sigma), 0)
    assert world.noise.scales(problem.graph).tolist() == sigma.tolist()
    small, large = (
        drawn(situation(problem, prior=tt.Prior(spread=spread)), 5) for spread in (1.0, 10.0)
    )
    np.testing.assert_allclose(large.theta, 10.0 * small.theta)


def test_criteria_of_an_unknown_graph_read_some_of_their_knobs() -> None:
    problem = tt.Problem(tt.Graph.complete(4))
    scopes = set()
    for n in range(10):
        world = drawn(situation(problem, graph_known=False, reads=2), n)
        base, reads = np.full(4, 0.4), np.zeros((4, 4), bool)
        for j in range(4):
            other = base.copy()
            other[j] = 0.9
            reads[:, j] = np.abs(world.mean(other) - world.mean(base)) > 1e-12
        assert (reads.sum(axis=1) == 2).all()
        assert reads.diagonal().all()  # its own knob among them
        scopes.add(reads.tobytes())
    assert len(scopes) > 5


def test_worlds_of_shared_factors() -> None:
    world = drawn(situation(tt.Problem(tt.Graph.complete(3)), factor_norm=1.0), 0)
    one, two, three = np.split(world.theta, 3)
    assert one.any()
    np.testing.assert_allclose(one, two)
    np.testing.assert_allclose(one, three)


def test_worlds_that_change_resemble_each_other() -> None:
    asked = situation(tt.Problem(tt.Graph.complete(1)), drift=True)
    pairs = []
    for n in range(200):
        world = world_number(n, asked, 90)
        assert isinstance(world, tt.worlds.Drifting)
        assert world.first == [1, 31, 61]
        before, after = (
            each.mean(np.ones(1))[0] - each.mean(np.zeros(1))[0] for each in world.worlds[:2]
        )
        pairs.append((before, after))
    # 0.7, with a standard error of 0.05 or so for uneven scales
    assert 0.5 < np.corrcoef(np.array(pairs).T)[0, 1] < 0.9


def test_correlated_noise_is_so_within_components() -> None:
    problem = tt.Problem(tt.Graph.cliques([2, 1]))
    noise = drawn(situation(problem, correlated=True, sigma=np.array([1.0, 2.0, 3.0])), 0).noise
    assert isinstance(noise, Correlated)
    rng = np.random.default_rng(0)
    seen = np.cov(np.array([noise.draw(rng, problem.graph, 1) for _ in range(20_000)]).T)
    np.testing.assert_allclose(seen, [[1, 1, 0], [1, 4, 0], [0, 0, 9]], atol=0.25)


# The runs.


def test_staying_put_is_carried_on_exactly() -> None:
    world = tt.worlds.quadratic(ring(3), seed=1)
    short, long = (
        tt.play(tt.FixedState(world.problem, start=[0.1] * 3), world, horizon=T)
        for T in (101, 1000)
    )
    assert short.regret + late_cost(short) * growth(101, 1000, 1.0) == pytest.approx(long.regret)
    assert growth(101, 101, 1.0) == growth(1, 1000, 1.0) == 0.0


def test_the_last_half_of_a_run() -> None:
    world = tt.worlds.quadratic(ring(3), seed=1, move_cost=2.0)
    policy = tt.SteadyGraphLinUCB(world.problem, start=[0.1] * 3)
    trace = tt.play(policy, world, horizon=200)
    states = [trace.state(t) for t in range(100, 201)]
    moved = sum(float(np.abs(a - b).sum()) for a, b in zip(states[1:], states, strict=False))
    moved += float(np.abs(policy.ask() - states[-1]).sum())
    regret = sum(world.loss(s) - world.optimum.value for s in states[1:])
    assert moved > 0.0
    assert late_cost(trace) == pytest.approx(regret + 2.0 * moved)


def test_the_less_a_round_costs_the_slower_costs_grow() -> None:
    shares = [growth(100, 10**4, share) for share in (0.0, 0.3, 0.9, 1.0, 5.0)]
    assert shares[0] == pytest.approx((100 - 10) / (10 - np.sqrt(50)))  # with the root
    assert shares == sorted(shares)
    assert shares[3] == shares[4] == pytest.approx(198.0)  # in proportion


def test_large_problems_get_fewer_rounds() -> None:
    small, large = (tt.Problem(ring(k)) for k in (6, 200))
    assert rounds_for(small, 10**9) == 1000
    assert 30 <= rounds_for(large, 10**9) < 1000
    assert rounds_for(large, 7) == 7


def test_the_gradient_is_that_of_the_total_loss() -> None:
    world = drawn(situation(tt.Problem(ring(4), weights=[1, 2, 3, 4])), 0)
    state, h = np.array([0.2, 0.7, 0.4, 0.9]), 1e-6
    slopes = [(world.loss(state + h * e) - world.loss(state - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(gradient(world, state), slopes, rtol=1e-6)


def test_descent_is_told_gradients_as_long_as_was_promised() -> None:
    asked = situation(tt.Problem(ring(3)), 50, lipschitz=1e-3)
    trace = descend(asked, drawn(asked, 0), 50)
    assert trace.movement > 0.0
    assert trace.horizon == 50
    near = situation(tt.Problem(ring(3)), 50, lipschitz=100.0, budget=5)
    assert descend(near, drawn(near, 0), 50).moves <= 5


def test_an_adversary_plays_the_same_losses_against_both() -> None:
    asked = situation(tt.Problem(ring(3)), 80, lipschitz=1.0)
    for n in (0, 1, 2, 5):
        stayed, moving = adversarial_pair(asked, n, 80)
        assert stayed.moves == 0
        np.testing.assert_allclose(stayed.lengths @ stayed.best, moving.lengths @ moving.best)


def test_rows_are_what_the_constructors_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "WORK", 0.2)
    problem, start = tt.Problem(ring(3), move_cost=1.0), np.array([0.2, 0.2, 0.8])
    advice = theory.advise(problem, 20, start=start, seed=4)
    asked = situation(problem, 20, start=start, seed=4)
    for name in ("FixedState", "SteadyGraphLinUCB", "LazyGraphLinUCB"):
        runs = []
        for n in range(advice.worlds):
            policy = getattr(tt, name)(problem, start=start)
            noise = np.random.default_rng((4, 13, n))
            runs.append(tt.play(policy, world_number(n, asked, 20), horizon=20, seed=noise))
        row, first = advice.row(name), [trace.regret for trace in runs]
        if name == "FixedState":
            assert row.cost == pytest.approx(np.mean(first))
        assert any(row.regret == pytest.approx(np.mean(first[:n])) for n in range(8, 97, 8))


# The choice.


def runs_of(**costs: Array) -> dict[str, Runs]:
    def one(cost: Array) -> Runs:
        return Runs(cost=cost, regret=cost, price=0 * cost, movement=0 * cost, looks=0 * cost)

    return {name: one(cost) for name, cost in costs.items()}


@pytest.mark.parametrize(
    ("chosen", "stay", "lazy", "steady"),
    [
        ("LazyGraphLinUCB", 100.0, 40.0, 50.0),
        ("LazyGraphLinUCB", 100.0, 49.0, 50.0),
        ("SteadyGraphLinUCB", 100.0, 60.0, 50.0),
        ("FixedState", 50.0, 60.0, 55.0),
        ("FixedState", 50.0, 49.9, 49.9),  # less, but not by more than noise
    ],
)
def test_choice(chosen: str, stay: float, lazy: float, steady: float) -> None:
    noise = np.tile([0.9, 1.1], 4)
    runs = runs_of(
        FixedState=stay * noise,
        LazyGraphLinUCB=lazy * noise[::-1],
        SteadyGraphLinUCB=steady * noise[::-1],
    )
    assert _choice(runs, set(runs)) == chosen


@pytest.mark.parametrize(
    ("eager", "chosen"),
    [(20.0, "LinUCB"), (49.0, "SteadyGraphLinUCB"), (80.0, "SteadyGraphLinUCB")],
)
def test_looking_in_every_round_must_pay(eager: float, chosen: str) -> None:
    noise = np.tile([0.9, 1.1], 4)
    runs = runs_of(
        FixedState=100.0 * noise, LinUCB=eager * noise, SteadyGraphLinUCB=50.0 * noise[::-1]
    )
    assert _choice(runs, set(runs)) == chosen


def test_what_cannot_be_built_is_not_chosen() -> None:
    ones = np.ones(8) + 0.01 * np.arange(8)
    runs = runs_of(FixedState=9 * ones, PooledGraphLinUCB=1 * ones, SteadyGraphLinUCB=5 * ones)
    assert _choice(runs, {"FixedState", "SteadyGraphLinUCB"}) == "SteadyGraphLinUCB"


def test_nothing_to_be_saved() -> None:
    runs = runs_of(FixedState=np.zeros(8), SteadyGraphLinUCB=np.zeros(8))
    assert _choice(runs, set(runs)) == "FixedState"


def test_dear_moves_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "WORK", 0.4)
    problem = tt.Problem(ring(3), move_cost=1000.0)
    advice = theory.advise(problem, 100)
    assert advice.variant == "FixedState"
    assert "Nothing costs less than staying put by more than noise" in advice.reasons[0]
    assert type(built(problem, advice)) is tt.FixedState


def test_a_bad_start_is_worth_leaving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "WORK", 0.4)
    problem = tt.Problem(ring(3), move_cost=1.0)
    advice = theory.advise(problem, 100, start=[0.0, 1.0, 0.0])
    row = advice.row(advice.variant)
    assert advice.variant not in ("FixedState", "LazyOGD")
    assert row.ratio is not None
    assert row.ratio < 0.3
    assert advice.options == {}  # constructor defaults
    assert row.cost == pytest.approx(row.ratio * (advice.row("FixedState").cost or 0.0))


# What it says.


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(
    ("answers", "absent"),
    [
        ({}, {"PooledGraphLinUCB", "AdaptiveGraphLinUCB", "JointLazyGraphLinUCB", "LazyOGD"}),
        (
            {"graph_known": False, "gamma": 0.2},
            {"PooledGraphLinUCB", "JointLazyGraphLinUCB", "LazyOGD"},
        ),
        (
            {"factor_norm": 1.0, "lipschitz": 1.0},
            {"PooledGraphLinUCB", "AdaptiveGraphLinUCB"},
        ),
        ({"drift": True}, {"PooledGraphLinUCB", "AdaptiveGraphLinUCB", "JointLazyGraphLinUCB"}),
        ({"adversarial": True, "lipschitz": 1.0}, set(NAMES) - {"FixedState", "LazyOGD"}),
    ],
    ids=["nothing", "graph", "factors", "drift", "adversary"],
)
def test_rows(answers: dict[str, Any], absent: set[str]) -> None:
    problem = tt.Problem(ring(4), move_cost=1.0)
    advice = theory.advise(problem, 12, **answers)
    assert [row.name for row in advice.rows] == NAMES
    simulated = {row.name for row in advice.rows if row.cost is not None}
    assert not simulated & absent
    assert simulated | absent >= set(NAMES) - {"LazyOGD", "LinUCB"}
    for row in advice.rows:
        assert bool(row.against) == (row.name != advice.variant)
        assert row.bound is None or row.name == "LazyOGD"
    assert advice.variant in simulated
    assert type(built(problem, advice)) is getattr(tt, advice.variant)
    assert all(re.fullmatch(r"[A-Z0-9].*\.", reason) for reason in advice.reasons)
    lines = str(advice).splitlines()
    assert max(map(len, lines)) <= 100
    assert str(advice).count("* ") == 1
    assert f"* {advice.variant}" in str(advice)


@pytest.mark.usefixtures("brief")
def test_the_same_seed_gives_the_same_advice() -> None:
    problem = tt.Problem(ring(3), move_cost=1.0)
    one, same, other = (str(theory.advise(problem, 12, seed=seed)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.usefixtures("brief")
def test_what_was_not_played_is_said() -> None:
    problem = tt.Problem(ring(3), move_cost=1.0)
    long, short = (theory.advise(problem, T) for T in (10**6, 12))
    assert "carried on to 1,000,000 rounds" in " ".join(long.reasons)
    assert "carried on" not in " ".join(short.reasons)
    assert "12 rounds played in each" in " ".join(short.reasons)


@pytest.mark.usefixtures("brief")
def test_criteria_that_are_alike_are_pooled() -> None:
    problem = tt.Problem(tt.Graph.complete(2), move_cost=1.0)
    advice = theory.advise(problem, 12)
    assert advice.row("PooledGraphLinUCB").cost is not None
    alone = theory.advise(tt.Problem(ring(4)), 12).row("PooledGraphLinUCB")
    assert "No two objectives" in alone.against


@pytest.mark.usefixtures("brief")
def test_bounds_are_shown_beside() -> None:
    problem = tt.Problem(tt.Graph.cliques([2, 2]), move_cost=1.0)
    advice = theory.advise(problem, 10**5, sigma=0.1, norm=1.0)
    case = theory.variants.Case(
        problem, 10**5, radius=tt.Confidence(sigma=0.1, norm=1.0), reg=1.0, factor=2.0
    )
    for name, bound in (
        ("LinUCB", case.linucb()),
        ("LazyGraphLinUCB", case.lazy()),
        ("AsyncLazyGraphLinUCB", case.local()),
        ("SteadyGraphLinUCB", case.steady()),
    ):
        assert advice.row(name).bound == bound
        assert f"{bound.total:,.0f}" in str(advice)
    drifting = theory.advise(problem, 100, sigma=0.1, norm=1.0, drift=True)
    assert all(row.bound is None for row in drifting.rows)  # none covers a change


@pytest.mark.usefixtures("brief")
def test_what_policies_are_told_is_what_they_are_given() -> None:
    problem = tt.Problem(ring(3), move_cost=0.1)
    prior = tt.Prior(spread=1.0, sigma=0.01)
    advice = theory.advise(problem, 12, start=[0.0] * 3, prior=prior)
    assert advice.options == {"prior": prior}
    assert built(problem, advice).learner.prior is not None


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(
    "problem",
    [
        tt.Problem(ring(3), domain=tt.Box(levels={1: [0.0, 0.4, 1.0]})),
        tt.Problem(
            tt.Graph.from_scopes([[0, 2], [1]], knobs=3),
            basis=tt.bases.Linear(intercept=True),
            domain=tt.Balls([[0, 2], [1]]),
        ),
    ],
    ids=["levels", "balls"],
)
def test_any_domain(problem: tt.Problem) -> None:
    advice = theory.advise(problem, 12)
    assert advice.row("SteadyGraphLinUCB").cost is not None
    assert problem.domain.contains(start_of(problem, None))


# What is refused, and what it is made of.


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"sigma": 0.0}, "sigma[0] = 0 must be greater than 0"),
        ({"norm": 1.0}, "norm without sigma; bounds need both"),
        ({"sigma": 1.0, "prior": tt.Prior(sigma=1.0)}, "sigma is given twice"),
        ({"sigma": 0.1, "norm": -1.0}, "norm[0] = -1 must be at least 0"),
        ({"sigma": 0.1, "norm": [1.0, 1.0]}, "norm has shape (2,), expected (4,)"),
        ({"sigma": 0.1, "norm": 1.0, "delta": 1.0}, "delta = 1; it must be finite, > 0 and < 1"),
        ({"sigma": 0.1, "norm": 1.0, "reg": 0.0}, "reg[0] = 0 must be greater than 0"),
        ({"sigma": 0.1, "norm": 1.0, "factor": 1.0}, "factor = 1; it must be finite, > 1"),
        ({"horizon": 0}, "horizon = 0; it must be at least 1"),
        ({"horizon": 1.5}, "horizon = 1.5; give a whole number"),
        ({"start": [0.5]}, "start has shape (1,), expected (4,)"),
        ({"seed": -1}, "seed = -1; it must be at least 0"),
        ({"adversarial": True}, "lipschitz is missing; adversarial losses need gradients"),
        ({"lipschitz": 0.0}, "lipschitz = 0; it must be finite, > 0"),
        ({"lipschitz": 1.0, "budget": 0}, "budget = 0; it must be at least 1"),
        ({"lipschitz": 1.0, "budget": 2000}, "budget = 2000 is above the horizon 1000"),
        ({"graph_known": False, "gamma": 0.0}, "gamma[0] = 0 must be greater than 0"),
        ({"graph_known": False, "gamma": 1.0, "reads": 0}, "reads = 0; it must be at least 1"),
        ({"worst": 0.0}, "worst = 0; it must be finite, > 0"),
        ({"factor_norm": -1.0}, "factor_norm = -1; it must be finite, >= 0"),
    ],
    ids=str,
)
def test_bad_answers(answers: dict[str, Any], message: str) -> None:
    options = {"horizon": 1000} | answers
    with pytest.raises(tt.InvalidInput, match=f"^{re.escape(message)}"):
        theory.advise(tt.Problem(ring(4)), **options)


@pytest.mark.usefixtures("brief")
def test_levels_have_no_gradients() -> None:
    problem = tt.Problem(ring(3), domain=tt.Box(levels={1: [0.0, 0.5, 1.0]}))
    with pytest.raises(tt.InvalidInput, match="nothing plays against an adversary here"):
        theory.advise(problem, 1000, adversarial=True, lipschitz=1.0)
    assert "levels" in theory.advise(problem, 12, lipschitz=1.0).row("LazyOGD").against


@pytest.mark.usefixtures("brief")
def test_what_cannot_be_learned() -> None:
    """Nothing to exclude, or no gamma to exclude by."""
    alone = tt.Problem(tt.Graph.from_edges(3, []))
    row = theory.advise(alone, 12, graph_known=False, gamma=0.3).row("AdaptiveGraphLinUCB")
    assert "No scope" in row.against
    row = theory.advise(tt.Problem(ring(3)), 12, graph_known=False).row("AdaptiveGraphLinUCB")
    assert "Give gamma" in row.against


@pytest.mark.usefixtures("brief")
def test_advice_is_plain_data() -> None:
    advice = theory.advise(tt.Problem(ring(4)), 12)
    with pytest.raises(FrozenInstanceError):
        advice.variant = "LinUCB"  # type: ignore[misc]
    with pytest.raises(tt.InvalidInput, match="variant 'Oracle' was not considered"):
        advice.row("Oracle")


def test_theory_resolves_it_at_first_use() -> None:
    from trimtab.advise import Advice, Row, advise

    assert (theory.advise, theory.Advice, theory.Row) == (advise, Advice, Row)
    assert {"advise", "Advice", "Row", "Bound"} <= set(dir(theory))
    with pytest.raises(AttributeError, match="no attribute 'advice'"):
        _ = theory.advice  # type: ignore[attr-defined]
