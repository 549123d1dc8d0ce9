"""One run: a policy in a world, from their descriptions to a row of numbers."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from trimtab import __version__
from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.parallel.blas import one_blas_thread
from trimtab.policies import GradientPolicy, Policy
from trimtab.sim.play import play
from trimtab.sweeps.describe.policies import make_policy
from trimtab.sweeps.describe.settings import Settings, digest
from trimtab.sweeps.describe.worlds import AnyWorld, make_world

FORMAT = 1  # of runs: raised when the same description would give other numbers


class Seeds(NamedTuple):
    """The seeds of a run's three sources of chance."""

    world: int  # of the world's parameters
    noise: int  # of its losses
    solver: int  # of the policy: random starts, random states


def seeds_of(seed: int) -> Seeds:
    """The three seeds that follow from a run's own, the same for every policy and world.

    >>> seeds_of(0)
    Seeds(world=3948308845846928943, noise=..., solver=...)
    """
    words = np.random.SeedSequence(seed).generate_state(3, np.uint64) >> np.uint64(2)
    return Seeds(*words.tolist())  # below 2^62


@dataclass(frozen=True, kw_only=True)
class SweepRun:
    """Everything that decides a run's numbers."""

    policy: Settings
    world: Settings
    seed: int
    horizon: int
    checkpoints: tuple[int, ...] = ()
    final_state: bool = False
    version: str = __version__
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)  # see `functions.py`

    @cached_property
    def digest(self) -> str:
        """What the run goes by in a store."""
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "functions"}
        return digest({**settings, "format": FORMAT})


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """What came of a run. The columns of a sweep's results, in this order."""

    loss: float  # expected losses, summed over all rounds
    regret: float  # how much of that the best state would have saved
    movement: float  # l1 length of the path
    price: float  # the same at the problem's move_cost
    moves: int
    knobs_changed: int
    solves: int
    reviews: int
    bound: float  # the certificate's; NaN for gradient policies, which have none
    certified: bool


ARRAYS = ("regret_at", "movement_at", "state")  # at the checkpoints, and at the end


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What there is to store of a run: its numbers, or why there are none."""

    numbers: Numbers | None
    arrays: Mapping[str, Array] = field(default_factory=dict)
    error: str = ""
    details: str = ""  # the traceback
    cpu_seconds: float = 0.0


def carry_out(run: SweepRun, *, clock: Callable[[], float] = time.thread_time) -> Outcome:
    """The outcome of a run; an error is an outcome too, so that others go on."""
    begun = clock()
    try:
        if run.version != __version__:
            raise InvalidInput(
                f"the sweep is trimtab {run.version}'s, and the worker has {__version__}; "
                "install the same one everywhere"
            )
        with one_blas_thread():
            numbers, arrays = _play(run)
    except Exception as error:
        return Outcome(
            numbers=None,
            error=f"{type(error).__name__}: {error}",
            details=traceback.format_exc(),
            cpu_seconds=clock() - begun,
        )
    return Outcome(numbers=numbers, arrays=arrays, cpu_seconds=clock() - begun)


def _play(run: SweepRun) -> tuple[Numbers, dict[str, Array]]:
    seeds = seeds_of(run.seed)
    world, policy = _make(run, seeds)
    trace = play(policy, world, horizon=run.horizon, seed=seeds.noise)
    bound, certified = np.nan, False
    if not isinstance(policy, GradientPolicy):
        bound, certified = policy.certificate.bound, policy.certificate.certified
    arrays = {}
    if run.checkpoints:
        arrays["regret_at"] = trace.regret_at(run.checkpoints)
        arrays["movement_at"] = trace.movement_at(run.checkpoints)
    if run.final_state:
        arrays["state"] = np.array(policy.ask())
    numbers = Numbers(
        loss=trace.loss,
        regret=trace.regret,
        movement=trace.movement,
        price=trace.move_cost,
        moves=trace.moves,
        knobs_changed=trace.knobs_changed,
        solves=trace.solves,
        reviews=trace.reviews,
        bound=float(bound),
        certified=bool(certified),
    )
    return numbers, arrays


def _make(run: SweepRun, seeds: Seeds) -> tuple[AnyWorld, Policy | GradientPolicy]:
    if "world" in run.functions:
        world: AnyWorld = run.functions["world"](seeds.world)
    else:
        world = make_world(run.world, seed=seeds.world)
    if "policy" in run.functions:
        policy: Policy | GradientPolicy = run.functions["policy"](world, seeds.solver)
    else:
        policy = make_policy(run.policy, world, seed=seeds.solver, horizon=run.horizon)
    return world, policy
