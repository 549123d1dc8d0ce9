"""Learning the graph: how surely, how fast, at what price, and when it has paid for itself.

Worlds of `tt.worlds.sparse`: 10 knobs, every criterion depends on 3 others through products with
its own knob alone, sizes between gamma and 1.5 gamma, sigma = gamma = 0.3, the problem on the
complete graph. Radius `Confidence(sigma, norm of the truth, delta=0.05)`, reg balanced.

    python benchmarks/adaptive.py [problems]

With fewer than 100 problems it is a smaller version of the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.progress import track

import trimtab as tt
from trimtab.arrays import Array
from trimtab.model.bases import PairwiseQuadratic, Quadratic
from trimtab.policies.adaptive.design import optimal_states
from trimtab.theory import break_even, kappa, warmup_rounds

K, DEGREE, GAMMA, SIGMA, HORIZON = 10, 3, 0.3, 0.3, 10**6
BASES = {"PairwiseQuadratic": PairwiseQuadratic(), "Quadratic": Quadratic()}
START = np.full(K, 0.5)
SPAN = [n * 10**e for e in range(1, 6) for n in (1, 1.5, 2, 3, 4, 5, 6, 8)] + [HORIZON]


def world_of(basis: object, seed: int, gamma: float = GAMMA) -> tt.worlds.SparseWorld:
    """The world of a seed."""
    return tt.worlds.sparse(
        K, degree=DEGREE, gamma=gamma, products_only=True, seed=seed, basis=basis
    )


def options(world: tt.worlds.World) -> dict[str, object]:
    """What every policy in this world is made with."""
    radius = tt.Confidence(sigma=SIGMA, norm=world.norms)
    return {"start": START, "radius": radius, "reg": radius.balanced_reg}


def adaptive(
    world: tt.worlds.SparseWorld, design: object, gamma: float = GAMMA, **more: object
) -> tt.AdaptiveGraphLinUCB:
    """The adaptive policy for it."""
    return tt.AdaptiveGraphLinUCB(
        world.problem, gamma=gamma, design=design, **options(world), **more
    )


def warm(policy: tt.AdaptiveGraphLinUCB, world: tt.worlds.SparseWorld, seed: int) -> tt.Trace:
    """Play until the warm-up is over."""
    return tt.play(policy, world, horizon=policy.warmup.length, seed=seed)


def tried(trace: tt.Trace, policy: tt.AdaptiveGraphLinUCB) -> tuple[int, float]:
    """Rounds of the warm-up, and its movement."""
    rounds = int(policy.edges.round.max())
    return rounds, float(trace.movement_at([rounds])[0])


def allowed(
    world: tt.worlds.SparseWorld, policy: tt.AdaptiveGraphLinUCB, information: float
) -> float:
    """4 beta^2 / (kappa gamma^2), with the radius at the end of the warm-up."""
    beta = float(np.sqrt(policy.edges.threshold[np.isfinite(policy.edges.threshold)].max()))
    return warmup_rounds(beta, kappa=information, gamma=GAMMA)


def recovery(problems: int, console: Console) -> None:
    """How often the graph is found, and after how long."""
    print(f"### Exact graphs in {problems} problems\n")
    print(
        "| basis | design | states | kappa | exact | problems with a false inclusion | "
        "rounds, median (most) | of 4 beta^2 / (kappa gamma^2) | movement, median (most) |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, basis in BASES.items():
        problem = world_of(basis, 0).problem
        states = optimal_states(problem)
        for design in ("optimal", "iid"):
            given = states if design == "optimal" else "iid"
            information = kappa(problem, states if design == "optimal" else None)
            rows = []
            for seed in track(range(problems), f"{name}, {design}", console=console):
                world = world_of(basis, seed)
                policy = adaptive(world, given)
                rounds, movement = tried(warm(policy, world, seed), policy)
                absent = world.sizes < 1e-9
                false = int(((policy.edges.decision == 1) & absent).any())
                share = rounds / allowed(world, policy, information)
                rows.append((policy.graph == world.truth, false, rounds, share, movement))
            exact, false, rounds, share, movement = np.array(rows, float).T
            print(
                f"| {name} | {design} | {len(states) if design == 'optimal' else 'any'} | "
                f"{information:.2f} | {int(exact.sum())} | {int(false.sum())} | "
                f"{np.median(rounds):,.0f} ({rounds.max():,.0f}) | at most {share.max():.2f} | "
                f"{np.median(movement):,.0f} ({movement.max():,.0f}) |",
                flush=True,
            )


def lengths(console: Console) -> None:
    """Movement of warm-ups of very different lengths."""
    print("\n### Movement does not grow with the length (seed 0, one lap)\n")
    print("| gamma | rounds | movement, optimal | movement of uniform draws |\n|---|---|---|---|")
    states = optimal_states(world_of(PairwiseQuadratic(), 0).problem)
    for gamma in (0.3, 0.1, 0.03, 0.01):
        world = world_of(PairwiseQuadratic(), 0)
        policy = adaptive(world, states, gamma=gamma, laps=1)
        rounds, movement = tried(warm(policy, world, 0), policy)
        print(
            f"| {gamma} | {rounds:,} | {movement:,.1f} | about {rounds * K / 3:,.0f} |", flush=True
        )


def regrets(seeds: int, console: Console) -> None:
    """Regret against those who know the graph, and those who never learn it."""
    print(f"\n### Regret, T = 10^6, {seeds} worlds\n")
    print(
        "| basis | warm-up | after it | knowing the graph | ratio, mean (most) | super-graph | "
        "movement: learned, known, super-graph | pays for itself at |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, basis in BASES.items():
        states = optimal_states(world_of(basis, 0).problem)
        rows, horizons = [], []
        for seed in track(range(seeds), f"regret, {name}", console=console):
            world = world_of(basis, seed)
            known = world.known()
            policy = adaptive(world, states)
            ours = tt.play(policy, world, horizon=HORIZON, seed=seed)
            told, dense = (
                tt.play(tt.LazyGraphLinUCB(w.problem, **options(w)), w, horizon=HORIZON, seed=seed)
                for w in (known, world)
            )
            rounds, _ = tried(ours, policy)
            before = float(ours.regret_at([rounds])[0])
            after = ours.regret - before
            rows.append(
                [before, after, told.regret, after / told.regret, dense.regret]
                + [trace.movement for trace in (ours, told, dense)]
            )
            cheaper = ours.regret_at(SPAN) <= dense.regret_at(SPAN)
            horizons.append(SPAN[len(SPAN) - int(np.argmin(cheaper[::-1]))])
        mean, ratio = np.mean(rows, axis=0), np.array(rows)[:, 3]
        movement = ", ".join(f"{x:,.0f}" for x in mean[5:])
        print(
            f"| {name} | {mean[0]:,.0f} | {mean[1]:,.0f} | {mean[2]:,.0f} | {ratio.mean():.2f} "
            f"({ratio.max():.2f}) | {mean[4]:,.0f} | {movement} | "
            f"{np.median(horizons):,.0f} rounds (at most {max(horizons):,.0f}) |",
            flush=True,
        )


def bounds() -> None:
    """When the bounds say that a warm-up has paid."""
    print("\n### When it pays by the bounds (Theorem 1', seed 0)\n")
    print("| basis | warm-up at R_max a round | pays at T |\n|---|---|---|")
    for name, basis in BASES.items():
        world = world_of(basis, 0)
        policy = adaptive(world, "optimal")
        rng = np.random.default_rng(0)
        corners = rng.integers(0, 2, (20_000, K)).astype(float)
        worst = max(world.loss(x) for x in corners) - world.optimum.value
        cost = policy.warmup.length * worst
        known = world.known()
        horizon = break_even(cost, learned=theorem(known, worst), given=theorem(world, worst))
        print(f"| {name} | {policy.warmup.length} x {worst:.1f} = {cost:,.0f} | {horizon:,.0f} |")


def theorem(world: tt.worlds.World, worst: float) -> Callable[[int], float]:
    """Theorem 1' of a world as a function of the horizon, or R_max T while that is less."""
    reg = np.asarray(options(world)["reg"], float)
    dims, m = world.problem.dims, world.problem.criteria

    def regret(T: int) -> float:
        gains = tt.theory.max_gain(dims, T, reg=reg)
        radii: Array = (
            SIGMA * np.sqrt(gains + 2 * np.log(2 * m / 0.05)) + np.sqrt(reg) * world.norms
        )
        return min(tt.theory.prediction_regret(radii, gains, T, reg=reg), worst * T)

    return regret


def weak(problems: int, console: Console) -> None:
    """Signals too weak for the warm-up that is allowed: nothing is decided wrongly."""
    print(f"\n### Weak signals: sizes from gamma = 0.02, warm-ups cut short, {problems} problems\n")
    print("| warm-up | undecided edges | included | excluded | wrong |\n|---|---|---|---|---|")
    states = optimal_states(world_of(PairwiseQuadratic(), 0).problem)
    for limit in (100, 1_000, 10_000, 100_000):
        counts = np.zeros(4)
        for seed in track(range(problems), f"weak, {limit}", console=console):
            world = world_of(PairwiseQuadratic(), seed, gamma=0.02)
            policy = adaptive(world, states, gamma=0.02, warmup=limit)
            warm(policy, world, seed)
            absent = world.sizes < 1e-9
            decision = policy.edges.decision
            wrong = ((decision == 1) & absent) | ((decision == 2) & ~absent)
            counts += [*((decision == n).sum() for n in range(3)), wrong.sum()]
        undecided, included, excluded, wrong = counts / (problems * K * (K - 1))
        print(
            f"| {limit:,} | {undecided:.1%} | {included:.1%} | {excluded:.1%} | {wrong:.2%} |",
            flush=True,
        )


def main() -> None:
    """Print all tables."""
    problems = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    console = Console(stderr=True)
    print("## Learning the graph\n")
    recovery(problems, console)
    lengths(console)
    regrets(max(problems // 10, 2), console)
    bounds()
    weak(max(problems // 10, 2), console)


if __name__ == "__main__":
    main()
