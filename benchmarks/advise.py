"""Whether `theory.advise` advises well: its choice against every variant, run in fresh worlds.

Twelve problems. Advice is asked for with seed 0. Then all variants run, over the whole horizon, in
worlds that the advice has not seen: draws from the prior with other seeds ("prior"), or worlds of
other generators, of which the advice knows nothing ("quadratic", "sparse"). Costs are regret and
price of movement together, ratios are of sums over the same worlds, errors are standard errors.
LinUCB looks in every round and runs up to 1,000 rounds only. Wanted: at most 1.2 times the cheapest
variant, and at most 1.02 times staying put.

    python benchmarks/advise.py [--quick] [worlds]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import trimtab as tt
from trimtab.advise.contenders import STAY, contenders
from trimtab.advise.situation import Situation, start_of
from trimtab.advise.worlds import world_number
from trimtab.arrays import Array

WORLDS, FRESH = 16, 9000  # how many, and the seed of their draws
EAGER_ROUNDS = 1000
MOST_OF_BEST, MOST_OF_STAYING = 1.2, 1.02
Make = Callable[[int], tt.worlds.World]


@dataclass(frozen=True)
class Setting:
    """A problem, a horizon, a start, and where its fresh worlds come from."""

    name: str
    problem: tt.Problem
    horizon: int
    start: Array | list[float] | None = None
    answers: dict[str, Any] = field(default_factory=dict)  # to what advise asks
    make: Make | None = None  # a world by its seed; by default a draw from the prior

    def situation(self, seed: int) -> Situation:
        """The same as advise sees it."""
        nothing: dict[str, Any] = {
            "prior": tt.Prior(),
            "sigma": None,
            "worst": None,
            "drift": False,
            "graph_known": True,
            "gamma": None,
            "reads": 1,
            "correlated": False,
            "factor_norm": None,
            "lipschitz": None,
            "budget": None,
        }
        return Situation(
            problem=self.problem,
            horizon=self.horizon,
            start=start_of(self.problem, self.start),
            seed=seed,
            **{**nothing, **self.answers},
        )

    def world(self, n: int) -> Any:
        """The fresh world of this number."""
        if self.make is not None:
            return self.make(FRESH + n)
        return world_number(n, self.situation(FRESH), self.horizon)


def ring(k: int) -> tt.Graph:
    """A circle of knobs."""
    return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


def path(k: int) -> tt.Graph:
    """Knobs in a row."""
    return tt.Graph.from_edges(k, [(j, j + 1) for j in range(k - 1)])


def tree(k: int) -> tt.Graph:
    """A binary tree."""
    return tt.Graph.from_edges(k, [(j, (j - 1) // 2) for j in range(1, k)])


def quadratic(graph: tt.Graph, basis: Any, move_cost: float) -> Make:
    """Convex worlds with conflicting criteria."""
    return lambda seed: tt.worlds.quadratic(graph, seed=seed, basis=basis, move_cost=move_cost)


def sparse(seed: int) -> tt.worlds.World:
    """Worlds that use part of the complete graph of six knobs."""
    return tt.worlds.sparse(6, degree=1, gamma=0.3, seed=seed, move_cost=1.0)


PAIRWISE = tt.bases.PairwiseQuadratic()
STAR = tt.Graph.from_edges(5, [(0, j) for j in range(1, 5)])
SINGLE = tt.Graph.from_scopes([[0, 1, 2]], knobs=3)
SETTINGS = (
    Setting("ring 6, price 1", tt.Problem(ring(6), move_cost=1.0), 300),
    Setting("ring 6, price 30", tt.Problem(ring(6), move_cost=30.0), 300),
    Setting("ring 6, price 300", tt.Problem(ring(6), move_cost=300.0), 1000),
    Setting(
        "complete 4, all criteria alike, price 1",
        tt.Problem(tt.Graph.complete(4), move_cost=1.0),
        1000,
        start=[0.1] * 4,
    ),
    Setting(
        "cliques 3 + 3, alike in each, price 5",
        tt.Problem(tt.Graph.cliques([3, 3]), move_cost=5.0, weights=[1, 2, 1, 0.5, 1, 3]),
        300,
    ),
    Setting(
        "path 8, price 3; quadratic",
        tt.Problem(path(8), basis=PAIRWISE, move_cost=3.0),
        1000,
        make=quadratic(path(8), PAIRWISE, 3.0),
    ),
    Setting("tree 15, price 0.1", tt.Problem(tree(15), move_cost=0.1), 200),
    Setting(
        "complete 5, each reads 2, unknown, price 1",
        tt.Problem(tt.Graph.complete(5), move_cost=1.0),
        1000,
        answers={"graph_known": False, "gamma": 0.1, "reads": 2},
    ),
    Setting(
        "complete 6, unknown, price 1; sparse",
        tt.Problem(tt.Graph.complete(6), basis=PAIRWISE, move_cost=1.0),
        3000,
        answers={"graph_known": False, "gamma": 0.3, "reads": 2},
        make=sparse,
    ),
    Setting(
        "star 5, linear, free moves",
        tt.Problem(STAR, basis=tt.bases.Linear(intercept=True)),
        100,
    ),
    Setting(
        "one criterion of 3 knobs, cubic, price 0.5",
        tt.Problem(SINGLE, basis=tt.bases.Polynomial(3), move_cost=0.5),
        300,
        start=[0.2, 0.5, 0.9],
    ),
    Setting(
        "ring 20, price 10; quadratic",
        tt.Problem(ring(20), move_cost=10.0),
        2000,
        make=quadratic(ring(20), None, 10.0),
    ),
)


def costs(setting: Setting, worlds: int) -> dict[str, Array]:
    """The cost of every variant in every fresh world."""
    situation = setting.situation(0)
    entered = contenders(situation, eager=setting.horizon <= EAGER_ROUNDS)
    found: dict[str, list[float]] = {}
    for n in range(worlds):
        world = setting.world(n)
        for each in entered:
            if each.absent or each.kind is None:
                continue
            policy = each.policy(replace(situation, seed=n), world)
            trace = tt.play(policy, world, horizon=setting.horizon, seed=FRESH + n)
            found.setdefault(each.name, []).append(trace.regret + trace.move_cost)
    return {name: np.array(each) for name, each in found.items()}


def ratio(mine: Array, theirs: Array) -> tuple[float, float]:
    """Of sums over the same worlds, and its standard error."""
    share = float(mine.mean() / theirs.mean())
    left = mine - share * theirs
    return share, float(left.std(ddof=1) / np.sqrt(left.size) / theirs.mean())


def main() -> None:
    """Print the table, and whether everything holds."""
    quick = "--quick" in sys.argv
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    worlds = numbers[0] if numbers else (4 if quick else WORLDS)
    print(f"## Advice, {worlds} fresh worlds a problem\n")
    print(
        "| problem; fresh worlds | rounds | advice | of staying put | cheapest | advice / it | s |"
    )
    print("|---|--:|---|--:|---|--:|--:|")
    within = []
    for setting in SETTINGS[:3] if quick else SETTINGS:
        begun = time.process_time()
        advice = tt.theory.advise(
            setting.problem, setting.horizon, start=setting.start, **setting.answers
        )
        spent = time.process_time() - begun
        found = costs(setting, worlds)
        best = min(found, key=lambda name: float(found[name].mean()))
        mine = found[advice.variant]
        stay, of_best = ratio(mine, found[STAY]), ratio(mine, found[best])
        within.append(of_best[0] <= MOST_OF_BEST and stay[0] <= MOST_OF_STAYING)
        name = setting.name if setting.make else f"{setting.name}; prior"
        print(
            f"| {name} | {setting.horizon:,} | {advice.variant} | {stay[0]:.3f} +- {stay[1]:.3f} | "
            f"{best} | {of_best[0]:.2f} +- {of_best[1]:.2f} | {spent:.1f} |",
            flush=True,
        )
    print(
        f"\n{sum(within)} of {len(within)} within {MOST_OF_BEST} of the cheapest variant and "
        f"{MOST_OF_STAYING} of staying put. The last column is CPU time of the advice."
    )


if __name__ == "__main__":
    main()
