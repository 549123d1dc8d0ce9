"""Which share, trial length and options each rival plays with: chosen in training worlds.

    python -m benchmarks.league.pilot                                  all fast rivals; half an hour
    python -m benchmarks.league.pilot --player SPSA --horizon 300      seconds

Prints what it chose from: the geometric mean of the total cost over worlds and seeds, for every
share and hold with the rival's defaults, then for every option at the best of these, one after the
other, each kept if it helps, then for the neighbouring shares and all holds; twice, if it helped.
plans.py has what was chosen.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from benchmarks.league import training
from benchmarks.league.match import match
from benchmarks.league.place import Place
from benchmarks.league.plans import HORIZONS, Plan
from benchmarks.league.rivals import Searcher
from benchmarks.league.roster import RIVALS
from trimtab.parallel.blas import one_blas_thread

WORLDS = (
    "ring 8, price 1",
    "ring 12, price 20",
    "degree 5, k = 16",
    "scopes",
    "fairness, 4 groups",
    "saturation, 4 knobs",
    "cliff, 7 knobs",
    "plateau, one pair",
    "two valleys, three pairs",
)  # none of which changes with the rounds
SEEDS = {300: 10, 1_000: 6, 5_000: 2}  # from `training.FIRST` on
SEEDS_TPE = {300: 5, 1_000: 2, 5_000: 2}  # it takes as long as all the others together

SHARES = {
    300: (0.05, 0.1, 0.2, 0.3, 1 / 3, 0.5),
    1_000: (0.05, 0.1, 0.2, 0.3, 0.5),
    5_000: (0.02, 0.05, 0.1, 0.2, 0.3),
}
HOLDS = {300: (1, 2, 5, 10, 25), 1_000: (2, 5, 10, 25), 5_000: (2, 5, 10, 25, 50)}
ALWAYS = {"BlueFin"}  # never stops: its share is one
FEWEST = 4  # trials
MOST = {"Optuna TPE": 100, "Optuna CMA-ES": 400}  # trials; they take seconds for more
TRIALS = 16  # of the slow ones, at most, about
PASSES = 2

PLAYERS = {kind.name: kind for kind in RIVALS}
FAST = [kind.name for kind in RIVALS if not kind.slow]
SMALL = ("ring 8, price 1", "scopes", "fairness, 4 groups", "cliff, 7 knobs")  # for the slow ones
FEW = 2  # seeds of theirs

OPTIONS: dict[str, dict[str, tuple[float, ...]]] = {
    "hill climbing": {"step": (0.1, 0.4), "shorter": (0.6,)},
    "SPSA": {"first": (0.03, 0.05, 0.2, 0.3), "perturbation": (0.05, 0.2, 0.3)},
    "cmaes": {"near": (0,), "population": (4, 6), "sigma": (0.1, 0.15, 0.3)},
    "Optuna TPE": {"middle": (1,), "startup": (2, 5), "multivariate": (1,)},
    "Optuna CMA-ES": {"near": (1,), "population": (4, 6), "sigma": (0.1, 0.25)},
    "BlueFin": {
        "rms": (1,),
        "points": (1,),
        "eta": (0.002, 0.005, 0.02, 0.05),
        "delta": (0.05, 0.2),
        "decay": (0.998, 0.99, 0.98, 0.95),
    },
    "Optuna GP": {"middle": (1,), "startup": (3, 5)},
    "BoTorch GP-UCB": {"middle": (1,), "startup": (2, 3)},
    "Ax BONSAI": {"startup": (3,), "middle": (0,)},
    "Xopt": {"travel": (0.1, 0.4), "startup": (5,)},
}


@cache
def place(world: str, seed: int) -> Place:
    """A training world of a seed, made once."""
    found = next(setting for setting in training.worlds(HORIZONS[0]) if setting.name == world)
    return found.make(seed)


def cost(
    kind: type[Searcher], plan: Plan, *, horizon: int, worlds: Iterable[str], seeds: int
) -> float:
    """The geometric mean of what a rival pays with a plan."""
    totals = []
    for world in worlds:
        for seed in range(training.FIRST, training.FIRST + seeds):
            here = place(world, seed)
            player = kind(here, horizon=horizon, seed=seed, plan=plan)
            totals.append(total(player, here, horizon=horizon, seed=seed))
    return float(np.exp(np.mean(np.log(totals))))


def total(player: Searcher, place: Place, *, horizon: int, seed: int) -> float:
    """What a match costs, of which the rounds after the search are not played: all are the same."""
    played = min(horizon, player.search + 1)
    score = match(player, place, horizon=played, seed=seed)
    now, _ = place.world.at(horizon)
    return score.total + (horizon - played) * (now.loss(player.ask()) - now.optimum.value)


def choose(name: str, horizon: int, price: Callable[[Plan], float]) -> Plan:
    """The cheapest plan of a rival; prints all that were tried."""
    tried: dict[str, float] = {}

    def cheapest(plans: Sequence[Plan]) -> Plan:
        for plan in plans:
            if str(plan) not in tried:
                tried[str(plan)] = price(plan)
                print(f"| {name} | {horizon:,} | {plan} | {tried[str(plan)]:.1f} |", flush=True)
        return min(plans, key=lambda plan: tried[str(plan)])

    def held(share: float, options: Mapping[str, float]) -> list[Plan]:
        if PLAYERS[name].slow:
            return [Plan(share, max(1, round(share * horizon / TRIALS)), options)]
        most = MOST.get(name, horizon)
        holds = [h for h in HOLDS[horizon] if FEWEST <= share * horizon / h <= most]
        return [Plan(share, hold, options) for hold in holds]

    best = cheapest([plan for share in shares(name, horizon) for plan in held(share, {})])
    for _ in range(PASSES):
        before = best
        for option, values in OPTIONS[name].items():
            others = [replace(best, options={**best.options, option: x}) for x in values]
            best = cheapest([best, *others])
        if PLAYERS[name].slow:
            break
        at = shares(name, horizon).index(best.share)
        near = shares(name, horizon)[max(at - 1, 0) : at + 2]
        best = cheapest([best, *(plan for share in near for plan in held(share, best.options))])
        if best == before:
            break
    return best


def shares(name: str, horizon: int) -> tuple[float, ...]:
    """What a rival may spend on its search."""
    return (1.0,) if name in ALWAYS else SHARES[horizon]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what every plan costs and which one is the cheapest."""
    parser = argparse.ArgumentParser(description="Choose the rivals' plans.")
    parser.add_argument("--player", nargs="*", default=FAST, choices=list(PLAYERS))
    parser.add_argument("--horizon", nargs="*", type=int, default=HORIZONS, choices=HORIZONS)
    parser.add_argument("--worlds", nargs="*", choices=WORLDS)
    parser.add_argument("--seeds", type=int, help="fewer or more than usual")
    chosen = parser.parse_args(arguments)
    print("| rival | horizon | share x hold, options | geometric mean of the cost |")
    print("|---|--:|---|--:|")
    with one_blas_thread():
        for horizon in chosen.horizon:
            for name in chosen.player:
                slow = PLAYERS[name].slow
                usual = SEEDS_TPE if name == "Optuna TPE" else SEEDS
                price = partial(
                    cost,
                    PLAYERS[name],
                    horizon=horizon,
                    worlds=chosen.worlds or (SMALL if slow else WORLDS),
                    seeds=chosen.seeds or (FEW if slow else usual[horizon]),
                )
                best = choose(name, horizon, price)
                print(f"| **{name}** | {horizon:,} | **{best}** | |", flush=True)


if __name__ == "__main__":
    main()
