"""The loop: ask, draw, tell; or from one review straight to the next."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np

from trimtab.arrays import Array, whole
from trimtab.errors import InvalidInput, OptimumMissed
from trimtab.model.domain import BoundBox
from trimtab.model.problem import Problem
from trimtab.parallel.progress import rounds_bar
from trimtab.policies import GradientPolicy, LazyPolicy, Policy, Told
from trimtab.sim.convex import play_convex
from trimtab.sim.engine import Engine
from trimtab.sim.losses import last_round, losses_of, without_sums
from trimtab.sim.trace import Recorder, Trace
from trimtab.sim.worlds import Adversarial, Drifting, World
from trimtab.sim.worlds.check import check_again, check_world, now_of

Path = Literal["auto", "rounds", "events"]
EQUAL = 1e-7  # relative: what the search for an optimum may leave


def play(
    policy: Policy | GradientPolicy,
    world: World | Drifting | Adversarial,
    *,
    horizon: int,
    seed: int | np.random.Generator = 0,
    path: Path = "auto",
    progress: Callable[[int], None] | bool | None = None,
) -> Trace:
    """Let a policy run in a simulated world and record what it did.

    A lazy policy knows when it will look again, and between two looks its losses matter
    only through their sums. Where the world can draw those, play jumps from review to
    review, and a horizon of 10^9 rounds costs no more than its reviews. The runs of the
    two paths have the same distribution; with recorded noise they are the same.

    >>> import trimtab as tt
    >>> world = tt.worlds.quadratic(tt.Graph.from_edges(3, [(0, 1), (1, 2)]), seed=4)
    >>> policy = tt.LazyGraphLinUCB(world.problem, start=[0.5, 0.5, 0.5], radius=0.5)
    >>> trace = tt.play(policy, world, horizon=10**9, seed=1)
    >>> trace.horizon, trace.moves <= trace.solves + 1
    (1000000000, True)

    A gradient policy, such as `LazyOGD`, plays in an `Adversarial` world. Its regret is then
    against the one state that was best for all rounds of the run together.

    Args:
        policy: changed by the run; at its first round the move from its start state counts.
            Its problem is the world's, or the same with levels, as `binary` makes it.
        world: where the losses come from; its rounds are counted from 1 in every run.
        horizon: how many rounds to play.
        seed: of the world's noise, or a generator to go on with.
        path: "rounds" for one at a time, "events" for jumps, "auto" for jumps if possible.
        progress: whether to show a bar; by default where a person watches (a terminal, a notebook),
            once the run has taken a second. Or what to call with the number of rounds just played.
    """
    horizon = whole(horizon, "horizon", low=1)
    if path not in ("auto", "rounds", "events"):
        raise InvalidInput(f"path = {path!r}; choose 'auto', 'rounds' or 'events'")
    if callable(progress):
        return _played(policy, world, horizon, _generator(seed), path, progress)
    with rounds_bar(type(policy).__name__, horizon, shown=progress) as advance:
        return _played(policy, world, horizon, _generator(seed), path, advance)


def _played(
    policy: Policy | GradientPolicy,
    world: World | Drifting | Adversarial,
    horizon: int,
    rng: np.random.Generator,
    path: Path,
    note: Callable[[int], None],
) -> Trace:
    if isinstance(world, Adversarial) or isinstance(policy, GradientPolicy):
        if not (isinstance(world, Adversarial) and isinstance(policy, GradientPolicy)):
            raise InvalidInput(
                f"{type(policy).__name__} cannot play in {type(world).__name__}: gradient policies "
                "such as LazyOGD play in Adversarial worlds, and no others do"
            )
        if path == "events":
            raise InvalidInput("no jumps here: the world gives a gradient per round; use 'rounds'")
        return play_convex(policy, world, horizon, rng, note)
    check_world(world)
    if not _fits(policy.problem, world.problem):
        raise InvalidInput("the policy was made for another problem; build it from world.problem")
    if horizon > last_round(world):
        raise InvalidInput(
            f"horizon = {horizon}, but the recorded noise ends with round {last_round(world)}"
        )
    before = policy.ask() if policy.rounds else policy.learner.origin
    recorder = Recorder(before, world.problem.criteria)
    if path == "events" and not isinstance(policy, LazyPolicy):
        raise InvalidInput(f"{type(policy).__name__} looks every round; use path='rounds'")
    if path == "events" and isinstance(policy, LazyPolicy) and not policy.sums_suffice:
        raise InvalidInput(
            f"no jumps here: a {type(policy).__name__} with a prior cuts single losses; use "
            "path='rounds', or give it a radius"
        )
    if path == "events" and (why := without_sums(world)):
        raise InvalidInput(f"no jumps here: {why}; use path='rounds'")
    sums = isinstance(policy, LazyPolicy) and policy.sums_suffice and not without_sums(world)
    if isinstance(policy, LazyPolicy) and sums and path != "rounds":
        _by_events(policy, world, horizon, rng, recorder, note)
    else:
        _by_rounds(policy, world, horizon, rng, recorder, note)
    now, _ = now_of(world, horizon)
    check_again(now)
    state = policy.ask()
    recorder.bounded(policy.certificate)
    recorder.left_at(state, rate=now.loss(state), best=now.optimum.value)
    trace = recorder.trace(prices=world.problem.move_cost, toll=world.problem.toll, world=world)
    _compare_with_optimum(trace)
    return trace


def _compare_with_optimum(trace: Trace) -> None:
    """Warn if a state that was played is better than the one regret is counted against."""
    less = trace.best - trace.rates
    if (less > EQUAL * (1.0 + np.abs(trace.best))).any():
        j = int(np.argmax(less))
        warnings.warn(
            f"the state of round {trace.ends[j]} has a loss of {trace.rates[j]:g}, less than the "
            f"world's optimum, {trace.best[j]:g}: regret is too small; override optimum",
            OptimumMissed,
            stacklevel=3,
        )


def _generator(seed: int | np.random.Generator) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(whole(seed, "seed", low=0))


def _fits(mine: Problem, worlds: Problem) -> bool:
    """Whether a policy's problem is the world's, or the same on levels between the same ends."""
    if mine.fingerprint() == worlds.fingerprint():
        return True
    here, there = mine.domain, worlds.domain
    if not (isinstance(here, BoundBox) and isinstance(there, BoundBox) and here.within(there)):
        return False
    if (here.low != there.low).any() or (here.high != there.high).any():
        return False
    part = Problem(
        worlds.graph,
        basis=worlds.basis,
        domain=here.unbound(),
        weights=worlds.weights,
        **worlds.prices,
    )
    return part.fingerprint() == mine.fingerprint()


def _by_rounds(
    policy: Policy,
    world: World | Drifting,
    horizon: int,
    rng: np.random.Generator,
    recorder: Recorder,
    progress: Callable[[int], None],
) -> None:
    now, last = now_of(world, 1)
    rated, rate = None, 0.0
    for t in range(1, horizon + 1):
        state = policy.ask()
        if last is not None and t > last:
            now, last = now_of(world, t)
            recorder.world_changed()
            rated = None
        if state is not rated:
            rated, rate = state, now.loss(state)
        told = policy.tell(now.draw(state, rng, t))
        _record(recorder, state, 1, rate, now.optimum.value, told)
        if told.cause != "none":
            recorder.bounded(policy.certificate)
        progress(1)


def _by_events(
    policy: LazyPolicy,
    world: World | Drifting,
    horizon: int,
    rng: np.random.Generator,
    recorder: Recorder,
    progress: Callable[[int], None],
) -> None:
    t = 0
    while t < horizon:
        now, last = now_of(world, t + 1)
        recorder.world_changed()
        stop = horizon if last is None else min(horizon, last)
        losses = losses_of(now, rng, t)
        engine = Engine.of(policy, losses)
        try:
            while t < stop:
                if engine is not None:
                    t, asked = engine.play(t, stop, now.optimum.value, recorder, progress)
                    recorder.bounded(policy.certificate)
                    if asked:
                        recorder.told(policy.look())
                    continue
                state = policy.ask()
                losses.means.visit(state)
                rate = losses.means.rate
                rounds, seen = losses.next_jump(policy, t, stop)
                t += rounds
                told = policy.skip(rounds, losses.owed, seen=seen)
                _record(recorder, state, rounds, rate, now.optimum.value, told)
                recorder.bounded(policy.certificate)
                progress(rounds)
        finally:
            policy.settle()  # what comes next has other means, or another owner


def _record(
    recorder: Recorder, state: Array, rounds: int, rate: float, best: float, told: Told
) -> None:
    recorder.played(state, rounds, rate=rate, best=best)
    recorder.told(told)
