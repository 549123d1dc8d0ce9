"""Do 90 % intervals cover 90 %? Worlds drawn from the prior; spread and noise are learned.

In every world the spread is drawn from its hyper-prior, the noise of each criterion from its own,
and the parameters of each criterion from the prior of that spread. The recommended policy, told
nothing, plays 300 rounds. At each of its looks after ten losses the posterior interval of every
criterion's expected loss is compared with the truth: in the whole box, and near the deployed
state, where the next look searches. The quantile is Student's, with one degree of freedom less
than the criterion has losses. Standard errors are those of means over worlds.

    python benchmarks/calibration.py            900 worlds, two minutes
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import t as student

import trimtab as tt
from trimtab.arrays import Array
from trimtab.learn.empirical_bayes import NOISE_SD, SPREAD, SPREAD_SD
from trimtab.learn.statistics import unpack

LEVEL, ROUNDS, FROM = 0.9, 300, 10
BINS = (10, 16, 32, 64, 128, 256, 10**9)  # losses of a criterion at the look
STATES, NEAR = 3, 0.2  # compared at each look, and how far a near one is at most
WHERE = ("in the box", "near")


def ring(k: int) -> tt.Graph:
    """A circle of knobs."""
    return tt.Graph.from_edges(k, [(j, (j + 1) % k) for j in range(k)])


PROBLEMS = {
    "ring of 6": tt.Problem(ring(6), move_cost=0.1),
    "ring of 6, pairwise": tt.Problem(
        ring(6), basis=tt.bases.PairwiseQuadratic(), weights=np.geomspace(0.1, 10.0, 6)
    ),
    "three read all of 3": tt.Problem(
        tt.Graph.from_scopes([[0, 1, 2]] * 3, knobs=3), basis=tt.bases.Quadratic(), move_cost=1.0
    ),
}


@dataclass(frozen=True, eq=False)
class Drawn:
    """A world drawn from the prior."""

    problem: tt.Problem
    theta: Array  # (sum d,)
    sigma: Array  # (m,)

    def mean(self, state: Array) -> Array:
        """The expected loss of each criterion: (m,)."""
        parts = self.problem.phi(state) * self.theta
        return np.asarray(np.add.reduceat(parts, self.problem.features.offsets[:-1]))


def drawn(problem: tt.Problem, rng: np.random.Generator) -> Drawn:
    """Spread, noise and parameters from the prior; levels and units are arbitrary."""
    bound, m = tt.Prior().bind(problem), problem.criteria
    typical = np.exp(rng.normal(0.0, 2.0))
    spread = SPREAD * typical * np.exp(rng.normal(0.0, SPREAD_SD)) * bound.unit
    sigma = typical * np.exp(rng.normal(0.0, NOISE_SD, m)) * bound.unit
    theta, start = [], 0
    for i, d in enumerate(problem.dims.tolist()):
        L = unpack(bound.roots[bound.usual], start, d + 1)[:d, :d]
        start += (d + 1) * (d + 2) // 2
        mean = bound.mean[problem.features.offsets[i] : problem.features.offsets[i + 1]]
        theta.append(spread[i] * (mean + np.linalg.solve(L.T, rng.standard_normal(d))))
    return Drawn(problem, np.concatenate(theta), sigma)


def covered(world: Drawn, rng: np.random.Generator, rounds: int = ROUNDS) -> Array:
    """Intervals that held, and all of them, at the looks of a run: (2, places, bins)."""
    problem = world.problem
    policy = tt.SteadyGraphLinUCB(problem, start=problem.domain.sample(rng))
    found = np.zeros((2, len(WHERE), len(BINS) - 1))
    for _ in range(rounds):
        noise = world.sigma * rng.standard_normal(problem.criteria)
        told = policy.tell(world.mean(policy.ask()) + noise)
        seen = policy.learner.estimators.stats.seen
        if told.record is None or seen.min() < FROM:
            continue
        place = int(np.searchsorted(BINS, seen.min(), side="right")) - 1
        for _ in range(STATES):
            near = problem.domain.project(policy.ask() + rng.uniform(-NEAR, NEAR, problem.knobs))
            for n, state in enumerate((problem.domain.sample(rng), near)):
                hits = np.abs(deviation(policy, world, state)) < student.ppf(
                    (1.0 + LEVEL) / 2.0, seen - 1.0
                )
                found[0, n, place] += hits.sum()
                found[1, n, place] += hits.size
    return found


def deviation(policy: tt.SteadyGraphLinUCB, world: Drawn, state: Array) -> Array:
    """How far the truth is from the posterior mean, in posterior standard deviations: (m,)."""
    learner, weights = policy.learner, world.problem.weights
    if learner.scales is None:
        raise RuntimeError("no look was made yet, so nothing was learned")
    mean, width = learner.lcb.terms(state)
    sd = width / weights / learner.lcb.radii * learner.scales.sigma
    return np.asarray((world.mean(state) - learner.estimators.stats.offset - mean / weights) / sd)


def measured(problem: tt.Problem, worlds: int, *, first: int, rounds: int = ROUNDS) -> Array:
    """What `covered` finds in each of some worlds, their seeds from `first` on: (worlds, ...)."""
    rngs = (np.random.default_rng((seed, 90)) for seed in range(first, first + worlds))
    return np.array([covered(drawn(problem, rng), rng, rounds) for rng in rngs])


def share(found: Array) -> tuple[float, float]:
    """The share of intervals that held, and its standard error: hits and all by world, (w, 2)."""
    hits, total = found.T
    rest = hits - total * (hits.sum() / total.sum())
    return float(hits.sum() / total.sum()), float(np.sqrt((rest**2).sum()) / total.sum())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Coverage of posterior intervals.")
    parser.add_argument("--worlds", type=int, default=300, help="of every problem")
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    chosen = parser.parse_args()
    print("## Coverage of 90 % intervals (`calibration.py`)\n")
    print(f"{chosen.worlds} worlds of each problem, {ROUNDS} rounds; ± one standard error.\n")
    names = [f"{a} to {b - 1}" for a, b in pairwise(BINS[:-1])]
    names.append(f"{BINS[-2]} and more")
    print("| problem | states | " + " | ".join([*names, "all"]) + " |")
    print("|---|---|" + "--:|" * (len(names) + 1))
    everything = []
    for name, problem in PROBLEMS.items():
        everything.append(measured(problem, chosen.worlds, first=chosen.first))
        show(name, everything[-1])
    show("**all**", np.concatenate(everything))


def show(name: str, found: Array) -> None:
    """Print the rows of a problem."""
    for n, where in enumerate(WHERE):
        cells = [found[:, :, n, b] for b in range(found.shape[-1])]
        cells.append(found[:, :, n].sum(axis=-1))
        texts = ["{:.1%} ± {:.1%}".format(*share(cell)) for cell in cells]
        print(f"| {name} | {where} | " + " | ".join(texts) + " |", flush=True)


if __name__ == "__main__":
    main()
