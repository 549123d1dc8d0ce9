"""The loop: what `play` records is what asking, drawing and telling by hand gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array, Ints
from trimtab.errors import InvalidInput
from trimtab.policies import Policy
from trimtab.sim import Trace
from trimtab.sim.worlds import Bounded, Correlated, Drifting, Gaussian, Noise, Recorded, World

RING = tt.Graph.from_edges(5, [(j, (j + 1) % 5) for j in range(5)])
START = [0.5, 0.25, 0.5, 0.75, 0.5]
PRICES = [1.0, 2.0, 0.5, 0.0, 3.0]
HORIZON = 120

Make = Callable[[World], Policy]


def linucb(world: World) -> Policy:
    return tt.LinUCB(world.problem, start=START, radius=0.5, reg=0.3)


def lazy(world: World) -> Policy:
    return tt.LazyGraphLinUCB(world.problem, start=START, radius=0.5, reg=0.3)


def lazy_to_the_letter(world: World) -> Policy:
    return tt.LazyGraphLinUCB(
        world.problem, start=START, radius=0.5, reg=0.3, cold_start="keep", review=False
    )


def world(missing: float = 0.0, *, seed: int = 4, noise: Noise | None = None) -> World:
    return tt.worlds.quadratic(RING, seed=seed, missing=missing, noise=noise, move_cost=PRICES)


class ByHand(NamedTuple):
    """Every round of a run, as a plain table."""

    states: Array  # (T, k)
    left: Array  # (k,) deployed after the last round
    rates: Array  # (T,)
    causes: list[str]
    triggered: list[Ints]
    moved: list[float]

    @property
    def path(self) -> Array:
        """How far each knob moved between rounds, and after the last: (T, k)."""
        return np.abs(np.diff(np.vstack((self.states, self.left)), axis=0))


def by_hand(policy: Policy, worlds: Sequence[World], seed: int) -> ByHand:
    """The worlds are those of each round."""
    rng = np.random.default_rng(seed)
    states, rates, told = [], [], []
    for t, world in enumerate(worlds, start=1):
        state = policy.ask()
        losses = world.mean(state) + world.noise.draw(rng, world.problem.graph, t)
        if world.missing:
            losses[rng.random(losses.size) < world.missing] = np.nan
        states.append(state.copy())
        rates.append(float(world.problem.weights @ world.mean(state)))
        told.append(policy.tell(losses))
    return ByHand(
        states=np.array(states),
        left=policy.ask().copy(),
        rates=np.array(rates),
        causes=[x.cause for x in told],
        triggered=[x.triggered for x in told],
        moved=[x.moved for x in told],
    )


def dense(trace: Trace) -> Array:
    return np.repeat(trace.states, trace.lengths, axis=0)


NOISES: dict[str, Noise] = {
    "gaussian": Gaussian(0.1),
    "bounded": Bounded(0.2),
    "correlated": Correlated(0.1),
    "recorded": Recorded(0.1 * np.random.default_rng(0).normal(size=(HORIZON, 5))),
}


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("make", [linucb, lazy, lazy_to_the_letter])
def test_play_is_the_loop_by_hand(make: Make, missing: float, name: str) -> None:
    place = world(missing if name != "recorded" else 0.0, noise=NOISES[name])
    trace = tt.play(make(place), place, horizon=HORIZON, seed=7, path="rounds")
    rows = by_hand(make(place), [place] * HORIZON, seed=7)
    assert dense(trace).tolist() == rows.states.tolist()
    assert trace.states[-1].tolist() == rows.left.tolist()
    path = np.vstack((np.abs(rows.states[:1] - START), rows.path))  # (T + 1, k)
    assert trace.horizon == HORIZON
    assert trace.start.tolist() == START
    assert trace.movement == pytest.approx(path.sum())
    assert trace.move_cost == pytest.approx((path @ PRICES).sum())
    assert trace.moves == path.any(axis=1).sum() > 5
    assert trace.knobs_changed == np.count_nonzero(path)
    assert trace.loss == pytest.approx(rows.rates.sum())
    assert trace.best.tolist() == [place.optimum.value] * trace.ends.size
    assert trace.regret == pytest.approx((rows.rates - place.optimum.value).sum())
    np.testing.assert_allclose(trace.regret_at([HORIZON]), trace.regret)
    assert trace.solves == sum(cause != "none" for cause in rows.causes)
    assert trace.reviews == rows.causes.count("review")
    assert (
        trace.attributions.tolist()
        == np.bincount(np.concatenate(rows.triggered), minlength=place.problem.criteria).tolist()
    )
    # A policy says itself how far it goes, after the last round as well.
    first = np.abs(rows.states[0] - START).sum()
    assert trace.movement == pytest.approx(first + sum(rows.moved))


@pytest.mark.parametrize("make", [linucb, lazy])
def test_the_last_tell_counts(make: Make) -> None:
    """Runs of every length: some end with a move, and it is part of the trace."""
    place, ended_with_a_move = world(), 0
    for horizon in range(1, 12):
        policy = make(place)
        trace = tt.play(policy, place, horizon=horizon, seed=7, path="rounds")
        rows = by_hand(make(place), [place] * horizon, seed=7)
        first = np.abs(rows.states[0] - START).sum()
        assert trace.movement == pytest.approx(first + sum(rows.moved))
        assert trace.states[-1].tolist() == policy.ask().tolist()
        assert trace.horizon == horizon
        assert (trace.lengths[-1] == 0) == (rows.moved[-1] > 0)
        assert trace.state(horizon).tolist() == rows.states[-1].tolist()
        ended_with_a_move += rows.moved[-1] > 0
    assert ended_with_a_move >= 2


@pytest.mark.parametrize("make", [linucb, lazy])
def test_a_drifting_world_by_hand(make: Make) -> None:
    phases = [world(seed=4), world(seed=5), world(0.3, seed=6)]
    trace = tt.play(
        make(phases[0]), Drifting(phases, changes=[41, 60]), horizon=100, seed=7, path="rounds"
    )
    now = [phases[0]] * 40 + [phases[1]] * 19 + [phases[2]] * 41
    rows = by_hand(make(phases[0]), now, seed=7)
    assert dense(trace).tolist() == rows.states.tolist()
    best = np.array([place.optimum.value for place in now])
    assert np.repeat(trace.best, trace.lengths).tolist() == best.tolist()
    np.testing.assert_allclose(np.repeat(trace.rates, trace.lengths), rows.rates)
    assert trace.regret == pytest.approx((rows.rates - best).sum())
    assert {40, 59} <= set(trace.ends.tolist())
    first = np.abs(rows.states[0] - START).sum()
    assert trace.movement == pytest.approx(first + sum(rows.moved))


@pytest.mark.parametrize("make", [linucb, lazy])
def test_the_policy_is_left_as_after_the_loop_by_hand(make: Make) -> None:
    place = world()
    played, told = make(place), make(place)
    tt.play(played, place, horizon=30, seed=7, path="rounds")
    by_hand(told, [place] * 30, seed=7)
    assert played.rounds == told.rounds == 30
    assert played.ask().tolist() == told.ask().tolist()
    assert played.certificate == told.certificate


@pytest.mark.parametrize("make", [linucb, lazy])
def test_the_seed_decides(make: Make) -> None:
    place = world()
    first, again, other = (tt.play(make(place), place, horizon=40, seed=seed) for seed in (1, 1, 2))
    assert dense(first).tolist() == dense(again).tolist()
    assert first.loss == again.loss
    assert first.attributions.tolist() == again.attributions.tolist()
    assert dense(first).tolist() != dense(other).tolist()


def test_the_cold_start_counts_as_a_move() -> None:
    place = world()
    # With so much regularisation nothing triggers in the first round.
    policy = tt.LazyGraphLinUCB(place.problem, start=START, radius=0.5, reg=3.0)
    first = policy.ask()
    far = np.abs(first - START).sum()
    assert far > 0.5
    trace = tt.play(policy, place, horizon=1)
    assert trace.start.tolist() == START
    assert trace.states.tolist() == [first.tolist()]
    assert (trace.moves, trace.horizon) == (1, 1)
    assert trace.movement == pytest.approx(far)
    assert trace.move_cost == pytest.approx(np.abs(first - START) @ PRICES)


def test_a_start_that_is_kept_is_no_move() -> None:
    place = world()
    trace = tt.play(lazy_to_the_letter(place), place, horizon=1)
    assert trace.states.tolist() == [START]
    assert (trace.moves, trace.movement, trace.knobs_changed) == (0, 0.0, 0)


def test_the_move_of_somebody_else_is_not_charged() -> None:
    place = world()
    placed = [0.0, 1.0, 0.25, 0.5, 0.75]
    policy = tt.LazyGraphLinUCB(place.problem, start=START, radius=0.5, reg=3.0)
    assert policy.ask().tolist() != START  # it has decided on a move, but not made it
    policy.place(placed)
    trace = tt.play(policy, place, horizon=1)
    assert trace.start.tolist() == trace.state(1).tolist() == placed
    assert (trace.moves, trace.movement, trace.move_cost) == (0, 0.0, 0.0)
    policy.place(START)
    trace = tt.play(policy, place, horizon=20, seed=1, path="rounds")
    assert trace.start.tolist() == trace.state(1).tolist() == START
    path = np.abs(np.diff(np.vstack((dense(trace), policy.ask())), axis=0))
    assert trace.movement == pytest.approx(path.sum())
    assert trace.movement > 0


@pytest.mark.parametrize("make", [linucb, lazy])
def test_a_second_play_continues(make: Make) -> None:
    place = world()
    policy = make(place)
    tt.play(policy, place, horizon=20, seed=1)
    deployed = policy.ask()
    second = tt.play(policy, place, horizon=25, seed=2)
    assert policy.rounds == 45
    assert second.horizon == 25
    assert second.start.tolist() == second.state(1).tolist() == deployed.tolist()
    assert deployed.tolist() != START
    path = np.abs(np.diff(np.vstack((dense(second), policy.ask())), axis=0))
    assert second.moves == path.any(axis=1).sum()
    assert second.movement == pytest.approx(path.sum())


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("make", [linucb, lazy, lazy_to_the_letter])
@pytest.mark.parametrize("parts", [[60, 60], [1, 100, 19], [1] * 30])
def test_plays_in_a_row_are_one_play(make: Make, missing: float, parts: list[int]) -> None:
    place = world(missing)
    whole = tt.play(make(place), place, horizon=sum(parts), seed=7, path="rounds")
    policy, rng = make(place), np.random.default_rng(7)
    traces = [tt.play(policy, place, horizon=n, seed=rng, path="rounds") for n in parts]
    assert np.vstack([dense(trace) for trace in traces]).tolist() == dense(whole).tolist()
    assert traces[-1].states[-1].tolist() == whole.states[-1].tolist()
    for before, after in pairwise(traces):
        assert before.states[-1].tolist() == after.start.tolist()
    for figure in ("loss", "regret", "movement", "move_cost"):
        total = sum(getattr(trace, figure) for trace in traces)
        assert total == pytest.approx(getattr(whole, figure)), figure
    for count in ("moves", "knobs_changed", "solves", "reviews"):
        assert sum(getattr(trace, count) for trace in traces) == getattr(whole, count), count
    attributions = sum(trace.attributions for trace in traces)
    assert np.asarray(attributions).tolist() == whole.attributions.tolist()
    assert whole.moves > 3


@pytest.mark.parametrize("path", ["rounds", "auto"])
def test_a_generator_is_gone_on_with(path: Any) -> None:
    place = world()
    seeded, given = lazy(place), lazy(place)
    rng = np.random.default_rng(7)
    first = tt.play(seeded, place, horizon=50, seed=7, path=path)
    assert dense(tt.play(given, place, horizon=50, seed=rng, path=path)).tolist() == (
        dense(first).tolist()
    )
    assert rng.random() != np.random.default_rng(7).random()


def test_a_round_draws_once_from_the_generator() -> None:
    place, rng, direct = world(), np.random.default_rng(7), np.random.default_rng(7)
    tt.play(lazy(place), place, horizon=50, seed=rng, path="rounds")
    for t in range(1, 51):
        place.noise.draw(direct, RING, t)
    assert rng.random() == direct.random()


# One round at a time, or jumps.


@pytest.mark.parametrize("make", [linucb, lazy])
def test_progress_hears_of_every_round(make: Make) -> None:
    place = world()
    heard: list[int] = []
    tt.play(make(place), place, horizon=17, path="rounds", progress=heard.append)
    assert heard == [1] * 17


@pytest.mark.parametrize("path", ["auto", "events"])
@pytest.mark.parametrize("make", [lazy, lazy_to_the_letter])
def test_progress_hears_of_every_jump(make: Make, path: Any) -> None:
    place, horizon = world(), 10**5
    heard: list[int] = []
    trace = tt.play(make(place), place, horizon=horizon, path=path, progress=heard.append)
    assert sum(heard) == horizon
    assert min(heard) >= 1
    # All jumps but the last end with a look at the state.
    assert trace.solves <= len(heard) <= trace.solves + 1
    assert len(heard) < 400


NO_JUMPS: dict[str, tuple[Make, World]] = {
    "LinUCB": (linucb, world()),
    "bounded": (lazy, world(noise=Bounded(0.2))),
    "correlated": (lazy, world(noise=Correlated(0.1))),
    "missing": (lazy, world(0.1)),
}


@pytest.mark.parametrize("case", NO_JUMPS)
def test_jumps_are_made_only_where_they_are_possible(case: str) -> None:
    make, place = NO_JUMPS[case]
    heard: list[int] = []
    trace = tt.play(make(place), place, horizon=50, seed=7, progress=heard.append)
    assert heard == [1] * 50
    again = tt.play(make(place), place, horizon=50, seed=7, path="rounds")
    assert dense(trace).tolist() == dense(again).tolist()


@pytest.mark.parametrize("case", NO_JUMPS)
def test_jumps_that_are_impossible_are_refused(case: str) -> None:
    make, place = NO_JUMPS[case]
    policy, rng = make(place), np.random.default_rng(0)
    before = policy.ask()
    sums = "the sum of many rounds of {} noise cannot be drawn"
    why = {
        "bounded": sums.format("Bounded"),
        "correlated": sums.format("Correlated"),
        "missing": "losses are missing at random",
    }
    message = (
        "LinUCB looks every round; use path='rounds'"
        if case == "LinUCB"
        else f"no jumps here: {why[case]}; use path='rounds'"
    )
    with refused(message):
        tt.play(policy, place, horizon=5, seed=rng, path="events")
    assert policy.rounds == 0
    assert policy.ask() is before
    assert rng.random() == np.random.default_rng(0).random()


def test_recorded_noise_is_jumped_over() -> None:
    table = 0.1 * np.random.default_rng(0).normal(size=(1000, 5))
    table[np.random.default_rng(1).random(table.shape) < 0.3] = np.nan
    place = world(noise=Recorded(table))
    heard: list[int] = []
    trace = tt.play(lazy(place), place, horizon=1000, progress=heard.append)
    assert sum(heard) == trace.horizon == 1000
    assert trace.solves <= len(heard) < 300


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("review", [True, False])
def test_counts_of_the_lazy_policy_fit_together(seed: int, missing: float, review: bool) -> None:
    place = world(missing)
    policy = tt.LazyGraphLinUCB(
        place.problem, start=START, radius=0.5, reg=0.3, factor=3.0, review=review
    )
    trace = tt.play(policy, place, horizon=400, seed=seed)
    triggers = trace.solves - trace.reviews
    assert trace.attributions.sum() >= triggers >= 5
    assert (trace.attributions <= triggers).all()
    assert trace.moves <= trace.solves + 1
    assert (trace.reviews >= 1) if review else (trace.reviews == 0)
    assert trace.reviews <= tt.theory.max_reviews(400)
    most = tt.theory.max_epochs(place.problem.dims, 400, reg=0.3, factor=3.0)
    assert triggers <= trace.attributions.sum() <= most


def test_linucb_solves_in_every_round() -> None:
    place = world()
    trace = tt.play(linucb(place), place, horizon=50)
    assert (trace.solves, trace.reviews) == (50, 0)
    assert trace.attributions.tolist() == [50] * 5
    assert trace.moves <= trace.solves + 1


def test_linucb_has_no_clock_to_review_by() -> None:
    place = world(missing=0.9)  # in more than half of the rounds nothing at all is seen
    trace = tt.play(linucb(place), place, horizon=50)
    assert (trace.solves, trace.reviews) == (50, 0)


def refused(message: str) -> Any:
    return pytest.raises(InvalidInput, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 0}, "horizon = 0; it must be at least 1"),
        ({"horizon": -3}, "horizon = -3; it must be at least 1"),
        ({"horizon": 1.5}, "horizon = 1.5; give a whole number"),
        ({"horizon": float("nan")}, "horizon = nan; give a whole number"),
        ({"horizon": "ten"}, "horizon must hold real numbers, not <U3; convert it first"),
        ({"horizon": 5, "seed": -1}, "seed = -1; it must be at least 0"),
        ({"horizon": 5, "seed": 0.5}, "seed = 0.5; give a whole number"),
        ({"horizon": 5, "path": "jumps"}, "path = 'jumps'; choose 'auto', 'rounds' or 'events'"),
        ({"horizon": 5, "path": None}, "path = None; choose 'auto', 'rounds' or 'events'"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    place = world()
    policy = lazy(place)
    before = policy.ask()
    with refused(message):
        tt.play(policy, place, **options)
    assert policy.rounds == 0
    assert policy.ask() is before


@pytest.mark.parametrize(
    "other",
    [
        tt.Problem(RING, basis=tt.bases.Quadratic()),  # another move_cost
        tt.Problem(RING, basis=tt.bases.Quadratic(), move_cost=PRICES, weights=[1, 1, 1, 1, 2]),
        tt.Problem(RING, move_cost=PRICES, basis=tt.bases.PairwiseQuadratic()),
        tt.Problem(RING, move_cost=PRICES, basis=tt.bases.Quadratic(normalize=False)),
        tt.Problem(
            RING, basis=tt.bases.Quadratic(), move_cost=PRICES, domain=tt.Box(low=[0.1, 0, 0, 0, 0])
        ),
        tt.Problem(tt.Graph.complete(5), basis=tt.bases.Quadratic(), move_cost=PRICES),
    ],
    ids=["move_cost", "weights", "basis", "normalize", "domain", "graph"],
)
def test_another_problem_is_refused(other: tt.Problem) -> None:
    policy = tt.LazyGraphLinUCB(other, start=START, radius=0.5)
    before = policy.ask()
    with refused("the policy was made for another problem; build it from world.problem"):
        tt.play(policy, world(), horizon=5)
    assert policy.rounds == 0
    assert policy.ask() is before


def test_an_equal_problem_is_accepted() -> None:
    twin = tt.Problem(RING, basis=tt.bases.Quadratic(), move_cost=PRICES)
    trace = tt.play(tt.LazyGraphLinUCB(twin, start=START, radius=0.5), world(), horizon=5)
    assert trace.horizon == 5


def recorded(rounds: int, missing: float = 0.0) -> World:
    problem = world().problem
    noise = tt.worlds.Recorded(np.zeros((rounds, problem.criteria)))
    theta = [np.ones(int(d)) for d in problem.dims]
    return World(problem, theta=theta, noise=noise, missing=missing)


@pytest.mark.parametrize("path", ["rounds", "events"])
def test_a_table_that_ends_too_early_changes_nothing(path: Any) -> None:
    place = recorded(10)
    policy = lazy(place)
    with pytest.raises(InvalidInput, match="horizon = 11, but the recorded noise ends"):
        tt.play(policy, place, horizon=11, path=path)
    assert policy.rounds == 0


def test_a_drift_that_cannot_be_summed_is_refused_at_once() -> None:
    calm, loud = (
        world(),
        tt.worlds.quadratic(RING, seed=4, move_cost=PRICES, noise=tt.worlds.Bounded(0.1)),
    )
    policy = lazy(calm)
    with pytest.raises(InvalidInput, match="no jumps here"):
        tt.play(policy, tt.worlds.Drifting([calm, loud], changes=[5]), horizon=9, path="events")
    assert policy.rounds == 0


def test_recorded_noise_says_itself_what_is_missing() -> None:
    with pytest.raises(InvalidInput, match="put NaN into its table"):
        recorded(10, missing=0.5)


def test_a_state_placed_before_the_first_round_is_not_the_policys_move() -> None:
    place = world()
    policy = lazy(place)
    policy.place(policy.ask())  # exactly where it wants to be
    trace = tt.play(policy, place, horizon=1)
    assert trace.start.tolist() == trace.state(1).tolist()


def test_the_last_stretch_has_the_rate_of_its_state() -> None:
    """Also where the last tell has moved the state and nobody has played it yet."""
    place = world()
    for horizon in range(2, 12):
        trace = tt.play(lazy(place), place, horizon=horizon, seed=1)
        for state, rate in zip(trace.states, trace.rates, strict=True):
            assert rate == pytest.approx(place.loss(state), rel=1e-12)
