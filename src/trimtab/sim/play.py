"""The loop: ask, draw, tell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trimtab.arrays import whole
from trimtab.errors import InvalidInput
from trimtab.policies import Policy
from trimtab.sim.trace import Recorder, Trace
from trimtab.sim.worlds import World


def play(
    policy: Policy,
    world: World,
    *,
    horizon: int,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Let a policy run in a simulated world, round by round, and record what it did.

    >>> import trimtab as tt
    >>> world = tt.worlds.quadratic(tt.Graph.from_edges(3, [(0, 1), (1, 2)]), seed=4)
    >>> policy = tt.LazyGraphLinUCB(world.problem, start=[0.5, 0.5, 0.5], radius=0.5)
    >>> trace = tt.play(policy, world, horizon=200, seed=1)
    >>> trace.horizon, trace.moves <= trace.solves + 1
    (200, True)

    Args:
        policy: changed by the run; at its first round the move from its start state counts.
        world: where the losses come from.
        horizon: how many rounds to play.
        seed: of the world's noise.
        progress: called with the number of rounds just played.
    """
    horizon = whole(horizon, "horizon", low=1)
    if policy.problem.fingerprint() != world.problem.fingerprint():
        raise InvalidInput("the policy was made for another problem; build it from world.problem")
    rng = np.random.default_rng(whole(seed, "seed", low=0))
    recorder = Recorder(policy.ask() if policy.rounds else policy.start, world.problem.criteria)
    rated, rate = None, 0.0
    for _ in range(horizon):
        state = policy.ask()
        if state is not rated:
            rated, rate = state, world.loss(state)
        told = policy.tell(world.draw(state, rng))
        recorder.played(state, 1, rate)
        if told.cause != "none":
            recorder.solved(told.triggered)
        if progress is not None:
            progress(1)
    return recorder.trace(best=world.optimum.value, prices=world.problem.move_cost)
