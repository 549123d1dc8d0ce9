"""Whether a world contradicts itself: asked before the first round, and after the last."""

from __future__ import annotations

from copy import copy

import numpy as np

from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.sim.worlds.drifting import Drifting
from trimtab.sim.worlds.world import World

STATES = 3  # at which draws are compared with means
DRAWS, VALUES = 256, 1_000_000  # draws of a state, fewer where they would be more values
FAR = 8.0  # standard errors: that two averages in a row are off by this has probability < 1e-12
EQUAL = 1e-9  # relative
METHODS = ("mean", "draw", "at", "loss", "expected", "norms")


def check_world(world: World | Drifting) -> None:
    """Refuse a world whose parts contradict each other; each of its own parts is asked once.

    Raises:
        InvalidInput: which part, where, and what it should be.
    """
    if not isinstance(world, World | Drifting):
        raise InvalidInput(
            f"the world is a {type(world).__name__}; derive it from tt.worlds.World, which says "
            "what may be overridden"
        )
    for each in world.worlds if isinstance(world, Drifting) else (world,):
        if "_losses_before" not in vars(each):
            _check(each)
            each.__dict__["_losses_before"] = each.expected(each.problem.domain.anchor)


def check_again(world: World) -> None:
    """Refuse a world whose overridden `mean` gives other losses than before its rounds."""
    if "mean" in world.overrides:
        _compare_means(world, vars(world)["_losses_before"])


def _compare_means(world: World, before: Array) -> None:
    state = world.problem.domain.anchor
    again = world.expected(state)
    if not np.array_equal(again, before):
        i = int(np.flatnonzero(again != before)[0])
        raise InvalidInput(
            f"{type(world).__name__}.mean gives {before[i]:g} for criterion {i} at {state}, and "
            f"{again[i]:g} when asked again; what changes by chance belongs into draw or noise, "
            "what changes with the rounds into at or tt.worlds.Drifting"
        )


def now_of(world: World | Drifting, t: int) -> tuple[World, int | None]:
    """`world.at(t)`, once it is known to be a world of the same problem that lasts until then."""
    now, last = world.at(t)
    if isinstance(world, Drifting) or now is world:
        return now, last
    if not isinstance(now, World) or now.problem.fingerprint() != world.problem.fingerprint():
        raise InvalidInput(f"{type(world).__name__}.at({t}) gives no world of the same problem")
    if last is not None and last < t:
        raise InvalidInput(f"{type(world).__name__}.at({t}) says that round {last} is its last")
    check_world(now)
    return now, last


def _check(world: World) -> None:
    name = type(world).__name__
    if not hasattr(world, "problem") or not hasattr(world, "_theta"):
        raise InvalidInput(f"{name} was not set up; call super().__init__ in its __init__")
    for method in METHODS:
        if method in vars(world):
            raise InvalidInput(
                f"{method} was set on one {name}, where nobody looks for it; override it in a class"
            )
    here = world.problem.domain.anchor
    if "mean" in world.overrides:
        _compare_means(world, world.expected(here))
    if "draw" in world.overrides:
        rng = np.random.default_rng(0)
        for state in (here, *(world.problem.domain.sample(rng) for _ in range(STATES - 1))):
            _compare_draws(world, state, rng)
    if "optimum" in world.overrides:
        best = world.optimum
        state = world.problem.domain.check(best.state, f"{name}.optimum.state")
        loss = world.loss(state)
        if abs(loss - best.value) > EQUAL * (1.0 + abs(loss)):
            raise InvalidInput(
                f"{name}.optimum has the value {best.value:g}, but the loss of its state is "
                f"{loss:g}; override mean and optimum together"
            )


def _compare_draws(world: World, state: Array, rng: np.random.Generator) -> None:
    """Refuse draws of another shape, and those whose average is not the mean."""
    n = max(min(DRAWS, VALUES // world.problem.criteria), 8)
    mean, scales = world.expected(state), world.noise.scales(world.problem.graph)
    first, missed = _standardised(world, state, rng, n, mean, scales)
    if world.missing and not missed and n * mean.size * world.missing > 50:
        raise InvalidInput(
            f"missing = {world.missing:g}, but {type(world).__name__}.draw leaves nothing out; "
            "missing is what World.draw leaves out: put NaN into your own losses instead"
        )
    if not world.unbiased or not (np.abs(first) > FAR).any():
        return
    second, _ = _standardised(world, state, rng, n, mean, scales)
    for i in np.flatnonzero((np.abs(first) > FAR) & (np.abs(second) > FAR)).tolist():
        raise InvalidInput(
            f"{type(world).__name__}.draw gives losses of criterion {i} at {state} whose average "
            f"is {abs(second[i]):.0f} standard errors from what mean says, {mean[i]:g}; override "
            "mean as well, or set unbiased = False if that is meant"
        )


def _standardised(
    world: World, state: Array, rng: np.random.Generator, n: int, mean: Array, scales: Array
) -> tuple[Array, bool]:
    """By how many standard errors averages of n draws are off, and whether a loss was missing."""
    asked = copy(world)  # what a draw remembers of its rounds is not for these
    rows = [np.array(asked.draw(state, rng, t), np.float64) for t in range(1, n + 1)]
    for row in rows:
        if row.shape != mean.shape:
            raise InvalidInput(
                f"{type(world).__name__}.draw gives losses of shape {row.shape}, expected "
                f"({mean.size},); give one per criterion, NaN where one is missing"
            )
    drawn = np.array(rows)
    seen = (~np.isnan(drawn)).sum(axis=0)
    count = np.maximum(seen, 1)
    off = np.nansum(drawn - mean, axis=0) / count
    spread = np.sqrt(np.nansum((drawn - mean - off) ** 2, axis=0) / np.maximum(seen - 1, 1))
    error = np.maximum(spread, scales) / np.sqrt(count) + EQUAL * (1.0 + np.abs(mean))
    return np.where(seen >= 8, off / error, 0.0), bool((seen < n).any())
