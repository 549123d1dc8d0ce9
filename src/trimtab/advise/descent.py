"""Gradient descent in simulated worlds: drawn ones, and those of adversaries."""

from __future__ import annotations

import numpy as np

from trimtab.advise.situation import Situation
from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.policies import LazyOGD
from trimtab.sim.play import play
from trimtab.sim.trace import Recorder, Trace
from trimtab.sim.worlds import (
    Adversarial,
    Alternating,
    Contrarian,
    Drifting,
    DriftingQuadratics,
    RandomSigns,
    ShiftingTargets,
    World,
)
from trimtab.theory.variants import descent

CHANGES = 4  # of an adversary's target in a run


def descent_policy(situation: Situation, rounds: int) -> LazyOGD:
    """The policy for a horizon, with as large a share of them for moves as was asked for."""
    if situation.lipschitz is None:
        raise InvalidInput("lipschitz is missing; say how long gradients can be")
    T, budget = situation.horizon, situation.budget
    moves = rounds if budget is None else max(budget * rounds // T, 1)
    _, step = descent(situation.problem, rounds, lipschitz=situation.lipschitz, budget=moves)
    return LazyOGD(
        situation.problem.domain,
        start=situation.start,
        horizon=rounds,
        lipschitz=situation.lipschitz,
        budget=moves,
        step=step,
    )


def descend(situation: Situation, world: World | Drifting, rounds: int) -> Trace:
    """A run in a drawn world, told the true gradients of the expected total loss.

    Longer ones are cut to the length that was promised.
    """
    policy = descent_policy(situation, rounds)
    recorder = Recorder(policy.origin, world.problem.criteria)
    for t in range(1, rounds + 1):
        now, _ = world.at(t)
        state = policy.ask()
        slope = gradient(now, state)
        length = float(np.linalg.norm(slope))
        told = policy.tell(slope * min(1.0, float(policy.lipschitz[0]) / max(length, 1e-300)))
        recorder.played(state, 1, rate=now.loss(state), best=now.optimum.value)
        recorder.told(told)
    recorder.left_at(policy.ask(), rate=now.loss(policy.ask()), best=now.optimum.value)
    return recorder.trace(prices=world.problem.move_cost)


def gradient(world: World, state: Array) -> Array:
    """The derivatives of the expected total loss by every knob: (k,)."""
    problem, found = world.problem, np.zeros(state.size)
    for i in range(problem.criteria):
        lo, hi = problem.features.offsets[i : i + 2]
        J = problem.features.jacobian(i, state)
        found[problem.graph.scope(i)] += problem.weights[i] * (J.T @ world.theta[lo:hi])
    return found


def adversarial_pair(situation: Situation, n: int, rounds: int) -> tuple[Trace, Trace]:
    """Runs against the adversary of this number: of a state that stays, and of descent."""
    period = max(rounds // CHANGES, 1)
    kinds = (
        ShiftingTargets(period),
        RandomSigns(bias=0.2),
        DriftingQuadratics(period),
        Contrarian(),
        Alternating(period),
        RandomSigns(hold=period),
    )
    world = Adversarial(
        situation.problem.domain,
        knobs=situation.problem.knobs,
        adversary=kinds[n % len(kinds)],
        lipschitz=1.0 if situation.lipschitz is None else situation.lipschitz,
        move_cost=situation.problem.move_cost,
    )
    policy, seed = descent_policy(situation, rounds), (situation.seed, 14, n)
    moving = play(policy, world, horizon=rounds, seed=np.random.default_rng(seed))
    return _stayed(world, situation.start, rounds, np.random.default_rng(seed)), moving


def _stayed(world: Adversarial, start: Array, rounds: int, rng: np.random.Generator) -> Trace:
    choose = world.begin(rng)
    losses = [choose(t, start) for t in range(1, rounds + 1)]
    best, recorder = world.best_fixed(losses), Recorder(start, criteria=0)
    for loss in losses:
        recorder.played(start, 1, rate=loss.value(start), best=loss.value(best))
    return recorder.trace(prices=world.move_cost)
