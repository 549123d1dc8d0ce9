"""Adversarial worlds: losses, opponents, the loop and the best fixed state."""

from __future__ import annotations

import math
import re
from itertools import product
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array
from trimtab.model.domain import BoundBox, BoundConvexDomain, BoundSimplex, ConvexDomain
from trimtab.policies import Told
from trimtab.sim.worlds import Adversary, Loss

worlds = tt.worlds
DOMAINS: dict[str, ConvexDomain] = {
    "cube": tt.Box(),
    "box": tt.Box(low=[0.1, 0.0, 0.5], high=[0.4, 1.0, 0.6]),
    "balls": tt.Balls([[0, 2], [1]]),
    "simplex": tt.Simplex(),
}
ADVERSARIES: dict[str, Adversary] = {
    "alternating": worlds.Alternating(),
    "blocks": worlds.Alternating(7),
    "signs": worlds.RandomSigns(),
    "held signs": worlds.RandomSigns(hold=5),
    "stochastic": worlds.RandomSigns(bias=0.4),
    "contrarian": worlds.Contrarian(),
    "targets": worlds.ShiftingTargets(11),
    "drift": worlds.DriftingQuadratics(40),
    "recorded": worlds.RecordedTargets(np.random.default_rng(5).random((30, 3))),
}
domains = pytest.mark.parametrize("name", DOMAINS)
adversaries = pytest.mark.parametrize("adversary", ADVERSARIES.values(), ids=ADVERSARIES)


def world_of(name: str, adversary: Adversary, **options: Any) -> worlds.Adversarial:
    return worlds.Adversarial(DOMAINS[name], knobs=3, adversary=adversary, **options)


def losses_of(world: worlds.Adversarial, rounds: int, seed: int) -> list[tuple[Array, Loss]]:
    """Losses against a state that wanders at random."""
    rng = np.random.default_rng(seed)
    choose = world.begin(np.random.default_rng(seed + 1))
    states = [world.domain.sample(rng) for _ in range(rounds)]
    return [(s, choose(t, s)) for t, s in enumerate(states, 1)]


# Losses


def test_a_loss_by_hand() -> None:
    loss = Loss(slope=np.array([1.0, -2.0]), curvature=4.0, constant=0.5)
    s = np.array([0.5, 1.0])
    assert loss.value(s) == pytest.approx(2.0 * 1.25 + 0.5 - 2.0 + 0.5)
    np.testing.assert_allclose(loss.gradient(s), [3.0, 2.0])
    assert loss.times(3.0).value(s) == pytest.approx(3.0 * loss.value(s))
    away = Loss.distance(np.array([0.2, 0.4]), 3.0)
    assert away.value(s) == pytest.approx(1.5 * (0.09 + 0.36))
    np.testing.assert_allclose(away.gradient(s), [0.9, 1.8])


@adversaries
@domains
def test_gradients_are_derivatives_and_within_the_constant(name: str, adversary: Adversary) -> None:
    world = world_of(name, adversary, lipschitz=2.5)
    rng = np.random.default_rng(0)
    longest = 0.0
    for _, loss in losses_of(world, 60, 0):
        s = world.domain.sample(rng)
        g = loss.gradient(s)
        for j in range(3):
            h = np.zeros(3)
            h[j] = 1e-6
            slope = (loss.value(s + h) - loss.value(s - h)) / 2e-6
            assert g[j] == pytest.approx(slope, abs=1e-7)
        away = world.domain.farthest(s)
        for x in (s, away, world.domain.minimiser(-g)):
            longest = max(longest, float(np.linalg.norm(loss.gradient(x))))
    assert 0.1 < longest <= 2.5 * (1 + 1e-12)


@domains
def test_linear_adversaries_use_the_whole_constant(name: str) -> None:
    for key in ("alternating", "blocks", "signs", "stochastic", "contrarian"):
        for _, loss in losses_of(world_of(name, ADVERSARIES[key]), 20, 1):
            assert loss.curvature == 0.0
            assert np.linalg.norm(loss.slope) == pytest.approx(1.0)


# Opponents


def test_alternating() -> None:
    signs = [loss.slope[0] for _, loss in losses_of(world_of("cube", worlds.Alternating(3)), 8, 0)]
    assert np.sign(signs).tolist() == [1, 1, 1, -1, -1, -1, 1, 1]


def test_random_signs_are_held_and_biased() -> None:
    held = [loss.slope for _, loss in losses_of(world_of("cube", worlds.RandomSigns(hold=4)), 8, 0)]
    assert (np.array(held[:4]) == held[0]).all()
    assert (np.array(held[4:]) == held[4]).all()
    assert (held[4] != held[0]).any()
    drawn = losses_of(world_of("cube", worlds.RandomSigns(bias=0.4)), 3000, 2)
    signs = np.array([loss.slope for _, loss in drawn]) * math.sqrt(3) * [1, -1, 1]
    np.testing.assert_allclose(np.abs(signs), 1.0)
    # Each mean has standard error 0.0167: five of them, 6e-7.
    np.testing.assert_allclose(signs.mean(axis=0), 0.4, atol=5 * 0.0167)


@domains
def test_the_contrarian_pushes_against_the_state(name: str) -> None:
    world = world_of(name, worlds.Contrarian())
    centre = world.domain.project((world.domain.low + world.domain.high) / 2)
    for state, loss in losses_of(world, 50, 0):
        assert loss.slope @ (state - centre) > 0.0
    assert np.linalg.norm(world.begin(np.random.default_rng(0))(1, centre).slope) > 0.0


@domains
def test_targets_are_states_and_move_as_they_should(name: str) -> None:
    for adversary, period in ((worlds.ShiftingTargets(6), 6), (worlds.DriftingQuadratics(30), 30)):
        world = world_of(name, adversary)
        losses = [loss for _, loss in losses_of(world, 61, 0)]
        targets = np.array([-loss.slope / loss.curvature for loss in losses])
        for target in targets:
            np.testing.assert_allclose(world.domain.project(target), target, atol=1e-12)
        steps = np.abs(np.diff(targets, axis=0)).sum(axis=1)
        if period == 6:
            assert np.flatnonzero(steps).tolist() == list(range(5, 60, 6))
        else:
            np.testing.assert_allclose(targets[30:60], targets[:30], atol=1e-9)
            assert 0.0 < steps.max() < 0.5


# The best fixed state


def extremes(domain: BoundConvexDomain) -> Array:
    """The vertices, or many states of the spheres."""
    if isinstance(domain, BoundBox):
        return np.array(list(product(*zip(domain.low, domain.high, strict=True))))
    if isinstance(domain, BoundSimplex):
        return np.eye(3)
    angles = np.linspace(0, 2 * np.pi, 2000)
    return np.array([[np.cos(x), end, np.sin(x)] for x in angles for end in (-1.0, 1.0)])


@adversaries
@domains
def test_best_fixed_state(name: str, adversary: Adversary) -> None:
    """Optimal by first-order conditions over the hull, and no sample is better."""
    world = world_of(name, adversary)
    losses = [loss for _, loss in losses_of(world, 37, 3)]
    best = world.best_fixed(losses)
    world.domain.check(best)
    slope = np.sum([loss.gradient(best) for loss in losses], axis=0)
    assert ((extremes(world.domain) - best) @ slope).min() >= -1e-9
    rng = np.random.default_rng(0)
    least = sum(loss.value(best) for loss in losses)
    for _ in range(200):
        s = world.domain.sample(rng)
        assert sum(loss.value(s) for loss in losses) >= least - 1e-9


# The loop


class Scripted:
    """An adversary with a list of losses, that notes the states it saw."""

    def __init__(self, losses: list[Loss]) -> None:
        self.losses = losses
        self.seen: list[Array] = []

    def begin(self, domain: BoundConvexDomain, rng: np.random.Generator) -> Any:
        def loss(t: int, state: Array) -> Loss:
            self.seen.append(state)
            return self.losses[t - 1]

        return loss


def test_play_is_the_loop_by_hand() -> None:
    rng = np.random.default_rng(0)
    script = [Loss.distance(rng.random(3), 0.5) for _ in range(30)]
    adversary = Scripted(script)
    world = worlds.Adversarial(
        tt.Box(), knobs=3, adversary=adversary, lipschitz=2.0, move_cost=[1.0, 2.0, 0.0]
    )
    options: dict[str, Any] = {"start": [0.1, 0.9, 0.5], "horizon": 30, "lipschitz": 2.0}
    policy, twin = (tt.LazyOGD(tt.Box(), budget=10, **options) for _ in range(2))
    ticks: list[int] = []
    trace = tt.play(policy, world, horizon=30, seed=0, progress=ticks.append)
    states, losses, causes = [], [], []
    for loss in script:
        states.append(twin.ask())
        losses.append(2.0 * loss.value(twin.ask()))
        causes.append(twin.tell(2.0 * loss.gradient(twin.gradient_point)).cause)
    np.testing.assert_array_equal(policy.ask(), twin.ask())
    np.testing.assert_array_equal(adversary.seen, states)
    for t, state in enumerate(states, 1):
        np.testing.assert_array_equal(trace.state(t), state)
    assert trace.loss == pytest.approx(sum(losses))
    mean = np.mean([-loss.slope / loss.curvature for loss in script], axis=0)
    assert trace.regret == pytest.approx(
        sum(losses) - sum(2.0 * loss.value(mean) for loss in script)
    )
    path = np.abs(np.diff([*states, twin.ask()], axis=0))
    assert trace.movement == pytest.approx(path.sum())
    assert trace.move_cost == pytest.approx((path @ [1.0, 2.0, 0.0]).sum())
    assert trace.moves == (path.sum(axis=1) > 0).sum() == 10
    assert trace.solves == trace.reviews == causes.count("review") == 10
    assert trace.horizon == sum(ticks) == 30
    assert trace.regret_at(30)[0] == pytest.approx(trace.regret)
    assert trace.attributions.size == 0


@adversaries
def test_same_seed_same_run(adversary: Adversary) -> None:
    world = world_of("balls", adversary)

    def run(seed: int | np.random.Generator) -> tt.Trace:
        policy = tt.LazyOGD(
            world.domain, start=world.domain.anchor, horizon=50, lipschitz=1.0, budget=20
        )
        return tt.play(policy, world, horizon=50, seed=seed)

    one, two = run(4), run(np.random.default_rng(4))
    np.testing.assert_array_equal(one.rates, two.rates)
    np.testing.assert_array_equal(one.states, two.states)


def test_a_run_may_be_continued_up_to_the_horizon() -> None:
    world = world_of("cube", worlds.RandomSigns())
    policy = tt.LazyOGD(world.domain, start=[0.5] * 3, horizon=50, lipschitz=1.0, budget=20)
    tt.play(policy, world, horizon=30)
    with pytest.raises(tt.InvalidInput, match="horizon = 21, but the policy has only 20 rounds"):
        tt.play(policy, world, horizon=21)
    assert policy.rounds == 30
    state = policy.ask()
    trace = tt.play(policy, world, horizon=20)
    np.testing.assert_array_equal(trace.start, state)


def test_the_leaders_first_move_counts() -> None:
    world = world_of("simplex", worlds.RandomSigns())
    policy = tt.FollowThePerturbedLeader(
        world.domain, start=world.domain.anchor, horizon=9, lipschitz=1.0
    )
    np.testing.assert_array_equal(tt.play(policy, world, horizon=9).start, world.domain.anchor)
    placed = tt.FollowThePerturbedLeader(
        world.domain, start=world.domain.anchor, horizon=9, lipschitz=1.0
    )
    placed.place([0.0, 0.5, 0.5])
    trace = tt.play(placed, world, horizon=9)
    np.testing.assert_array_equal(trace.start, [0.0, 0.5, 0.5])
    np.testing.assert_array_equal(trace.state(1), [0.0, 0.5, 0.5])


def test_pairs_that_cannot_play() -> None:
    world = world_of("cube", worlds.RandomSigns())
    problem = tt.Problem(tt.Graph.complete(3))
    stochastic = worlds.quadratic(tt.Graph.complete(3))
    descent = tt.LazyOGD(world.domain, start=[0.5] * 3, horizon=9, lipschitz=1.0, budget=3)
    bandit = tt.LinUCB(problem, start=[0.5] * 3, radius=0.5)
    with pytest.raises(tt.InvalidInput, match="LinUCB cannot play in Adversarial"):
        tt.play(bandit, world, horizon=9)
    with pytest.raises(tt.InvalidInput, match="LazyOGD cannot play in World"):
        tt.play(descent, stochastic, horizon=9)
    with pytest.raises(tt.InvalidInput, match="another domain; build it from"):
        tt.play(descent, world_of("box", worlds.RandomSigns()), horizon=9)
    with pytest.raises(tt.InvalidInput, match="no jumps here"):
        tt.play(descent, world, horizon=9, path="events")
    assert descent.rounds == 0


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("period = 0", lambda: worlds.Alternating(0)),
        ("period = 0", lambda: worlds.ShiftingTargets(0)),
        ("period = 0", lambda: worlds.DriftingQuadratics(0)),
        ("hold = 0", lambda: worlds.RandomSigns(hold=0)),
        ("bias = 1", lambda: worlds.RandomSigns(bias=1.0)),
        ("adversary is", lambda: world_of("cube", worlds.RandomSigns)),  # type: ignore[arg-type]
        ("lipschitz = 0", lambda: world_of("cube", worlds.RandomSigns(), lipschitz=0.0)),
        ("move_cost", lambda: world_of("cube", worlds.RandomSigns(), move_cost=-1.0)),
        ("knobs = 0", lambda: worlds.Adversarial(tt.Box(), knobs=0, adversary=worlds.Contrarian())),
        (
            "knob 0 has levels",
            lambda: worlds.Adversarial(
                tt.Box(levels={0: [0, 1]}), knobs=2, adversary=worlds.Contrarian()
            ),
        ),
    ],
)
def test_bad_worlds(message: str, make: Any) -> None:
    with pytest.raises(tt.InvalidInput, match=re.escape(message)):
        make()


# Follow the perturbed leader


@domains
def test_the_fresh_leader_by_hand(name: str) -> None:
    domain = DOMAINS[name].bind(3)
    policy = tt.FollowThePerturbedLeader(
        domain, start=domain.anchor, horizon=20, lipschitz=1.0, perturbation="fresh", scale=2.0
    )
    total = np.zeros(3)
    rng = np.random.default_rng(1)
    for t in range(20):
        p = 2.0 * np.random.default_rng((0, t)).uniform(-0.5, 0.5, 3)
        np.testing.assert_allclose(policy.ask(), domain.minimiser(total + p))
        g = rng.uniform(-0.5, 0.5, 3)
        total += g
        policy.tell(g)


def test_the_lazy_leader_moves_only_with_its_grid() -> None:
    """The point it follows is that of a grid, within half a side of the total in every knob."""
    domain = tt.Balls([[0, 1, 2]]).bind(3)  # every point of the grid has its own leader
    side = 1.7
    policy = tt.FollowThePerturbedLeader(
        domain, start=domain.anchor, horizon=200, lipschitz=1.0, scale=side, seed=3
    )
    p = side * np.random.default_rng((3, 0)).uniform(-0.5, 0.5, 3)
    offsets = side * np.arange(-60.0, 61.0)
    rng = np.random.default_rng(1)
    total, moves = np.zeros(3), 0
    for _ in range(200):
        near = np.array(
            [p[j] + offsets[np.argmin(np.abs(p[j] + offsets - total[j]))] for j in range(3)]
        )
        assert (np.abs(near - total) <= side / 2 + 1e-9).all()
        np.testing.assert_allclose(policy.ask(), -near / np.linalg.norm(near))
        g = rng.uniform(-0.4, 0.5, 3)
        total += g
        moves += policy.tell(g).moved > 0.0
    assert 20 < moves < 190


@pytest.mark.parametrize("name", ["cube", "balls", "simplex"])
@pytest.mark.slow
def test_perturbed_leader_regret_and_switches(name: str) -> None:
    """Means over 15 perturbations, for linear losses that do not know them.

    Both bounds are on expectations. The largest mean regret is 0.26 of its bound, and 28 standard
    errors below. The bound on switches is nearly attained, so a mean may exceed it by 5.5
    standard errors: a false alarm in one of the nine cases has probability 4e-4.
    """
    T = 150
    for adversary in (worlds.RandomSigns(), worlds.RandomSigns(bias=0.3), worlds.Alternating(10)):
        world = world_of(name, adversary)
        domain = world.domain
        traces = []
        for seed in range(15):
            policy = tt.FollowThePerturbedLeader(
                domain, start=domain.anchor, horizon=T, lipschitz=1.0, seed=seed
            )
            traces.append(tt.play(policy, world, horizon=T, seed=9))
        bound = tt.theory.perturbed_leader_regret(
            domain.diameter, domain.diameter_l2, 3, T, lipschitz=1.0
        )
        most = tt.theory.perturbed_leader_switches(3, T, lipschitz=1.0, scale=policy.scale)
        assert np.mean([trace.regret for trace in traces]) <= bound
        moves = np.array([trace.moves - 1 for trace in traces])  # the first was before round 1
        assert moves.mean() <= most + 5.5 * moves.std(ddof=1) / np.sqrt(15)
        assert moves.max() > 1


def test_the_leader_has_no_guarantee_against_those_who_see_it() -> None:
    """The contrarian moves it in every round; lazy gradient descent stays within its bound."""
    world, T = world_of("cube", worlds.Contrarian()), 400
    leader = tt.FollowThePerturbedLeader(world.domain, start=[0.5] * 3, horizon=T, lipschitz=1.0)
    descent = tt.LazyOGD(world.domain, start=[0.5] * 3, horizon=T, lipschitz=1.0, budget=T)
    cube = world.domain
    bound = tt.theory.perturbed_leader_regret(cube.diameter, cube.diameter_l2, 3, T, lipschitz=1.0)
    assert tt.play(leader, world, horizon=T).regret > 2.0 * bound
    assert tt.play(descent, world, horizon=T).regret <= descent.regret_bound < bound


def test_the_leader_looks_every_round() -> None:
    policy = tt.FollowThePerturbedLeader(tt.Box(), start=[0.5], horizon=9, lipschitz=1.0)
    told = policy.tell([0.5])
    assert isinstance(told, Told)
    assert (told.cause, told.next_review, told.triggered.size) == ("review", 1, 0)


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("perturbation = 'new'", {"perturbation": "new"}),
        ("scale = 0", {"scale": 0.0}),
        ("lipschitz has shape", {"lipschitz": [1.0, 1.0]}),
        ("seed = -1", {"seed": -1}),
    ],
)
def test_bad_leaders(message: str, options: dict[str, Any]) -> None:
    good: dict[str, Any] = {"start": [0.5, 0.5], "horizon": 9, "lipschitz": 1.0}
    with pytest.raises(tt.InvalidInput, match=re.escape(message)):
        tt.FollowThePerturbedLeader(tt.Box(), **(good | options))
