"""The loop for gradient policies: ask, let the adversary choose, tell the gradient."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.policies import GradientPolicy, Told
from trimtab.policies.gradient.descent import fingerprint
from trimtab.sim.trace import Recorder, Trace
from trimtab.sim.worlds import Adversarial, Loss


def play_convex(
    policy: GradientPolicy,
    world: Adversarial,
    horizon: int,
    rng: np.random.Generator,
    progress: Callable[[int], None],
) -> Trace:
    """A run round by round; the best fixed state is known only at its end."""
    if fingerprint(policy.domain) != fingerprint(world.domain):
        raise InvalidInput("the policy was made for another domain; build it from world.domain")
    left = policy.horizon - policy.rounds
    if horizon > left:
        raise InvalidInput(f"horizon = {horizon}, but the policy has only {left} rounds left")
    before = policy.ask() if policy.rounds else policy.origin
    choose = world.begin(rng)
    rounds: list[tuple[Array, Loss, Told]] = []
    for t in range(1, horizon + 1):
        state = policy.ask()
        loss = choose(t, state)
        rounds.append((state, loss, policy.tell(loss.gradient(policy.gradient_point))))
        progress(1)
    best = world.best_fixed([loss for _, loss, _ in rounds])
    recorder = Recorder(before, criteria=0)
    for state, loss, told in rounds:
        recorder.played(state, 1, rate=loss.value(state), best=loss.value(best))
        recorder.told(told)
    recorder.left_at(policy.ask(), rate=loss.value(policy.ask()), best=loss.value(best))
    return recorder.trace(prices=world.move_cost)
