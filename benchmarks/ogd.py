"""Regret and movement of lazy gradient descent against its budget of switches.

Every adversary of `worlds`, on [0, 1]^4 from its centre, gradients of length 1 at most.
Adversaries that draw at random are averaged over seeds, and so is the coin. The adversaries
"held" and "in step" know how long the policy freezes.

    python benchmarks/ogd.py [--quick] [seeds]

With matplotlib (`pip install trimtab[paper]`) the long runs are also drawn, in
docs/figures/ogd-regret.png.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

import trimtab as tt
from trimtab import theory
from trimtab.sim.worlds import Adversary

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "ogd-regret.png"
KNOBS, START = 4, np.full(4, 0.5)
DISTANCE, DIAMETER = 1.0, 4.0  # from the centre, in l2; and from corner to corner, in l1
COINS = (10, 100, 1000)  # budgets at which the coin is measured too


def adversaries(freeze: int, horizon: int) -> dict[str, Adversary]:
    """Opponents of a policy that stays for this number of rounds."""
    worlds = tt.worlds
    return {
        "random signs, held": worlds.RandomSigns(hold=freeze),
        "alternating, in step": worlds.Alternating(freeze),
        "contrarian": worlds.Contrarian(),
        "stochastic": worlds.RandomSigns(bias=0.1),
        "random signs": worlds.RandomSigns(),
        "shifting targets": worlds.ShiftingTargets(horizon // 20),
        "drifting quadratics": worlds.DriftingQuadratics(horizon // 5),
        "alternating": worlds.Alternating(),
    }


# Colour, marker and its size; plain alternation is left out: its regret is 0 up to M = T.
STYLES = {
    "random signs, held": ("#0072B2", "o", 5),
    "alternating, in step": ("#E69F00", "s", 8),
    "contrarian": ("#009E73", "D", 4),
    "stochastic": ("#D55E00", "^", 5),
    "random signs": ("#CC79A7", "v", 5),
    "shifting targets": ("#56B4E9", "<", 5),
    "drifting quadratics": ("#7F7F7F", ">", 5),
}
RANDOM = ("random signs, held", "stochastic", "random signs", "shifting targets")


@dataclass(frozen=True)
class Outcome:
    """Means over the runs of one policy against one adversary."""

    regret: float
    bound: float
    moves: float
    movement: float
    most_moves: int


def descend(name: str, horizon: int, budget: int, mode: theory.ogd.Mode, seeds: int) -> Outcome:
    """Lazy gradient descent against an adversary."""
    runs = []
    for seed in range(seeds):
        adversary = adversaries(-(-horizon // budget), horizon)[name]
        world = tt.worlds.Adversarial(tt.Box(), knobs=KNOBS, adversary=adversary)
        policy = tt.LazyOGD(
            world.domain,
            start=START,
            horizon=horizon,
            lipschitz=1.0,
            budget=budget,
            mode=mode,
            seed=seed,
        )
        runs.append(tt.play(policy, world, horizon=horizon, seed=seed))
    moves = [run.moves for run in runs]
    return Outcome(
        regret=float(np.mean([run.regret for run in runs])),
        bound=policy.regret_bound,
        moves=float(np.mean(moves)),
        movement=float(np.mean([run.movement for run in runs])),
        most_moves=max(moves),
    )


def lead(name: str, horizon: int, seeds: int) -> tuple[float, float]:
    """Mean regret and switches of the lazy perturbed leader."""
    runs = []
    for seed in range(seeds):
        world = tt.worlds.Adversarial(
            tt.Box(), knobs=KNOBS, adversary=adversaries(100, horizon)[name]
        )
        policy = tt.FollowThePerturbedLeader(
            world.domain, start=START, horizon=horizon, lipschitz=1.0, seed=seed
        )
        runs.append(tt.play(policy, world, horizon=horizon, seed=seed))
    return float(np.mean([r.regret for r in runs])), float(np.mean([r.moves for r in runs]))


def table(title: str, rows: dict[str, dict[int, Outcome]]) -> None:
    """Regret, and in brackets its share of the bound, against the budget."""
    budgets = list(next(iter(rows.values())))
    bounds = [next(iter(rows.values()))[M].bound for M in budgets]
    print(f"\n{title}\n\n| adversary | {' | '.join(f'M = {M:,}' for M in budgets)} |")
    print("|---" * (len(budgets) + 1) + "|")
    for name, row in rows.items():
        cells = (f"{o.regret:,.1f} ({o.regret / o.bound:.2f})" for o in row.values())
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"| **bound** | {' | '.join(f'{b:,.1f}' for b in bounds)} |")
    most = (max(row[M].most_moves for row in rows.values()) for M in budgets)
    print(f"| most moves of a run | {' | '.join(f'{n:,}' for n in most)} |")
    length = (max(row[M].movement for row in rows.values()) for M in budgets)
    print(f"| longest mean path, l1 | {' | '.join(f'{x:,.1f}' for x in length)} |")


def draw(rows: dict[str, dict[int, Outcome]], horizon: int) -> None:
    """Regret and movement against the budget, beside their bounds."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "font.family": "serif",
            "mathtext.fontset": "cm",
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
    M = np.array(list(next(iter(rows.values()))))
    step = np.array([theory.ogd_step(DISTANCE, horizon, lipschitz=1, budget=m)[0] for m in M])
    coin = [theory.ogd_regret(DISTANCE, horizon, lipschitz=1, budget=m, mode="random") for m in M]
    left.plot(M, DISTANCE * horizon / np.sqrt(M), "k-", lw=2, label=r"bound, $DG\,T/\sqrt{M}$")
    left.plot(M, coin, "k--", lw=1, label=r"bound of the coin")
    right.plot(M, DIAMETER * M, "k:", lw=1.2, label=r"as printed, $D_1 M$")
    right.plot(
        M, np.sqrt(KNOBS) * step * horizon, "k-", lw=2, label=r"bound, $\sqrt{k}\,\eta\,G\,T$"
    )
    for name, (colour, marker, size) in STYLES.items():
        values = list(rows[name].values())
        for axis, y in ((left, [o.regret for o in values]), (right, [o.movement for o in values])):
            shown = np.where(np.array(y) > 0.0, y, np.nan)
            axis.plot(
                M, shown, color=colour, marker=marker, ms=size, mfc="none", lw=1.1, label=name
            )
    for axis in (left, right):
        axis.set(xscale="log", yscale="log", xlabel=r"budget of switches, $M$")
        axis.grid(True, which="major", lw=0.4, alpha=0.5)
    rounds = f"$T = 10^{{{np.log10(horizon):.0f}}}$"
    left.set(ylabel="regret", ylim=(10, 1e4), title=f"Regret, {rounds} (where positive)")
    right.set(ylabel=r"length of the path, $\ell_1$", ylim=(0.1, 1e5), title=f"Movement, {rounds}")
    right.legend(*(x[:2] for x in right.get_legend_handles_labels()), frameon=False, fontsize=9)
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9
    )
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=200)


def main() -> None:
    """Print the tables, and draw the figure where that is possible."""
    quick = "--quick" in sys.argv
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    seeds = numbers[0] if numbers else (2 if quick else 5)
    T = 1000 if quick else 10**4
    budgets = [M for M in (10, 25, 100, 250, 1000, 2500, 5000, 10**4) if M <= T]
    console = Console(stderr=True)
    names = list(adversaries(1, T))
    about = (__doc__ or "").split("\n\n")[1]
    print(f"## Lazy gradient descent, T = {T:,}, {seeds} seeds\n\n{about}")
    blocks = {
        name: {M: descend(name, T, M, "blocks", seeds if name in RANDOM else 1) for M in budgets}
        for name in track(names, "blocks", console=console)
    }
    table("Blocks: regret (share of the bound).", blocks)
    coins = {
        name: {M: descend(name, T, M, "random", seeds) for M in COINS if M < T}
        for name in track(names, "coin", console=console)
    }
    table("The paper's coin, with the best step.", coins)
    bound = theory.perturbed_leader_regret(DIAMETER, 2.0, KNOBS, T, lipschitz=1.0)
    print(
        f"\nFollow the perturbed leader, lazy (bound {bound:,.1f}, for linear losses that do not "
        "see it).\n\n| adversary | regret | moves |\n|---|---|---|"
    )
    for name in track(names, "leader", console=console):
        regret, moves = lead(name, T, seeds)
        print(f"| {name} | {regret:,.1f} | {moves:,.0f} |")
    if quick:
        return  # the figure shows the long runs
    try:
        draw(blocks, T)
    except ImportError:
        console.print("no matplotlib, so no figure: pip install trimtab[paper]")


if __name__ == "__main__":
    main()
