"""Thresholds of Adult's groups, learned by the recommended policy: late regret and movement.

    python -m benchmarks.fairness                  # race x sex in the test split, 8 seeds: a minute
    python -m benchmarks.fairness --by age --gap fpr
    python -m benchmarks.fairness --training       # the split that choices are made in
    python -m benchmarks.fairness --smooth 0.3     # without the staircases of small groups
    python -m benchmarks.fairness --exact          # losses that the basis holds exactly
    python -m benchmarks.fairness --short          # seconds; its figures mean little

`--smooth` gives everybody in a group of fewer than 100 people of label 1 COPIES copies whose
log-odds are spread by so much: the group's rates become smooth functions of its threshold, and the
noise of a batch stays what it is. `--exact` plays the basis's own fit to the losses, with Gaussian
noise as large as that of a batch at the best state: what is left is the cost of learning.

Late regret is that of a round over the last fifth, as a share of (loss of the start - loss of the
best fixed thresholds). `floor` is what the best state of the basis costs: how far the basis itself
is off.
"""

from __future__ import annotations

import argparse

import numpy as np

import trimtab as tt
from trimtab.arrays import Array
from trimtab.paper import adult_data
from trimtab.paper.fairness.groups import group_links, group_names, groups_of
from trimtab.paper.fairness.play import BASES, Settings, Shape, world_of
from trimtab.paper.scores import Classifier, scored
from trimtab.sim.worlds import Fairness, World
from trimtab.solve import Bound, solve

ROUNDS, SEEDS, FACTOR = 30_000, 8, 1.15
FEW, COPIES, DRAWS = 100, 64, 400


def run(world: World, settings: Settings, start: Array, seed: int) -> tuple[float, float, float]:
    """Late regret and that of all rounds as shares of what there is to gain; and movement."""
    policy = tt.SteadyGraphLinUCB(world.problem, start=start, factor=settings.factor, seed=seed)
    rng, T = np.random.default_rng((seed, 0, 1)), settings.rounds
    trace = tt.play(policy, world, horizon=T, seed=rng)
    late = float(np.diff(trace.regret_at([T - T // 5, T]))[0]) / (T // 5)
    unit = gain(world, start)
    return late / unit, trace.regret / T / unit, trace.movement


def smoothed(settings: Settings, basis: str, spread: float, *, training: bool) -> Fairness:
    """The same world, in which the rates of small groups are no staircases."""
    adult = adult_data.load()
    rows = ~adult.test if training else adult.test
    groups, labels = groups_of(adult, settings.by)[rows], adult.rich[rows]
    scores = scored(Classifier())[rows]
    small = (np.bincount(groups, labels) < FEW)[groups]
    # The others are copied as they are, so that all groups keep their size.
    scores = scores.clip(1e-12, 1.0 - 1e-12)
    odds = np.log(scores / (1.0 - scores))
    draws = np.random.default_rng(0).normal(size=(COPIES, labels.size)) * spread * small
    return Fairness(
        (1.0 / (1.0 + np.exp(-(odds + draws)))).ravel(),
        np.tile(labels, COPIES),
        np.tile(groups, COPIES),
        links=group_links(len(group_names(settings.by)) // 2),
        gap=settings.gap,
        power=settings.power,
        batch=settings.batch,
        move_cost=settings.move_cost,
        units="logit",
        low=settings.low,
        high=settings.high,
        basis=BASES[basis],
    )


def exact(world: Fairness) -> World:
    """The world of the basis's own fit, with noise as large as that of a batch."""
    rng = np.random.default_rng(0)
    draws = np.array([world.draw(world.optimum.state, rng) for _ in range(DRAWS)])
    theta = np.split(world.theta, world.problem.features.offsets[1:-1])
    noise = tt.worlds.Gaussian(np.nanstd(draws, axis=0))
    return World(world.problem, theta=theta, noise=noise)


def gain(world: World, start: Array) -> float:
    """What there is to gain in a round."""
    return world.loss(start) - world.optimum.value


def floor(world: World, start: Array) -> float:
    """What the best state of the basis costs, with parameters fitted to all states."""
    known = solve(Bound.of_parameters(world.problem, world.theta), world.problem.domain.anchor)
    return (world.loss(known.state) - world.optimum.value) / gain(world, start)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--by", default="race", choices=("race", "age", "hours"))
    parser.add_argument("--gap", default="tpr", choices=("tpr", "fpr", "selection"))
    parser.add_argument("--basis", default="cubic", choices=("quadratic", "cubic", "quartic"))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--factor", type=float, default=FACTOR)
    parser.add_argument("--smooth", type=float, default=0.0)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--short", action="store_true")
    asked = parser.parse_args()
    settings = Settings(
        by=asked.by,
        gap=asked.gap,
        rounds=500 if asked.short else asked.rounds,
        batch=asked.batch,
        factor=asked.factor,
    )
    world = world_of(settings, Shape("logit", asked.basis), training=asked.training)
    if asked.smooth:
        world = smoothed(settings, asked.basis, asked.smooth, training=asked.training)
    start = world.state(settings.start)
    played = exact(world) if asked.exact else world
    seeds = 2 if asked.short else SEEDS
    found = np.array([run(played, settings, start, seed) for seed in range(seeds)])
    late = 100 * found[:, 0]
    print(
        f"{asked.by} x sex, {asked.gap}, {asked.basis}, {settings.rounds:,} rounds of "
        f"{asked.batch:,}, {'training' if asked.training else 'test'} split, "
        f"factor {asked.factor:g}, spread by {asked.smooth:g}"
        f"{', losses of the basis itself' if asked.exact else ''}\n"
        f"late regret {late.mean():.1f} % ({late.min():.1f} to {late.max():.1f} %, {seeds} seeds), "
        f"all rounds {100 * found[:, 1].mean():.1f} %, movement {found[:, 2].mean():.1f}, "
        f"floor of the basis {100 * floor(played, start):.1f} %"
    )


if __name__ == "__main__":
    main()
