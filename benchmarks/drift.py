"""One knob in a world that changes: restart on alarm against going on as if nothing had happened.

One criterion reads one knob on 21 levels (features 1, s, s^2); its loss is a parabola, and every
4,000 of 20,000 rounds it becomes another one. Noise 0.3, a valid norm, move_cost 0. Equal for all:
world, noise seed, radius, reg, factor. Means over 16 seeds; the standard error is that of the ratio
to Algorithm 1.

    python benchmarks/drift.py
"""

from __future__ import annotations

import numpy as np

import trimtab as tt
from trimtab.arrays import Array

SEEDS, LENGTH, WORLDS, SIGMA = 16, 4000, 5, 0.3
PLAYERS = (
    ("Algorithm 1, nothing forgotten", tt.LazyGraphLinUCB, {}),
    ("Steady, no alarm", tt.SteadyGraphLinUCB, {"alarm": False}),
    ("Steady, restart on alarm", tt.SteadyGraphLinUCB, {}),
)


def parabolas(seed: int, *, changes: bool) -> tt.worlds.Drifting:
    """a (s - c)^2 with a from 1 to 2 and c from 0.05 to 0.95, again and again."""
    rng = np.random.default_rng(seed)
    problem = tt.Problem(
        tt.Graph.from_scopes([[0]], knobs=1),
        basis=tt.bases.Polynomial(2, normalize=False),
        domain=tt.Box(levels=[np.linspace(0.0, 1.0, 21)]),
    )
    worlds = []
    for _ in range(WORLDS):
        c, a = rng.uniform(0.05, 0.95), rng.uniform(1.0, 2.0)
        theta = [[a * c * c, -2.0 * a * c, a]]
        worlds.append(tt.worlds.World(problem, theta=theta, noise=tt.worlds.Gaussian(SIGMA)))
    if not changes:
        worlds = worlds[:1] * WORLDS
    return tt.worlds.Drifting(worlds, changes=[1 + LENGTH * n for n in range(1, WORLDS)])


def regrets(seed: int, *, changes: bool, balanced: bool) -> list[float]:
    """The regret of every player in one world."""
    world = parabolas(seed, changes=changes)
    norm = max(float(part.norms.max()) for part in world.worlds)
    radius = tt.Confidence(sigma=SIGMA, norm=norm)
    reg = radius.balanced_reg if balanced else 1.0
    found = []
    for _, kind, options in PLAYERS:
        policy = kind(world.problem, start=[0.5], radius=radius, reg=reg, **options)
        found.append(tt.play(policy, world, horizon=LENGTH * WORLDS, seed=seed).regret)
    return found


def main() -> None:
    """Print the table."""
    print("## A world that changes (`drift.py`)\n")
    print(
        f"Mean regret over {SEEDS} seeds, {LENGTH * WORLDS:,} rounds, and its ratio to Algorithm 1."
    )
    print(
        "Asked for: at most half where the world changes, equal within noise where it does not.\n"
    )
    print("| world | reg | " + " | ".join(name for name, _, _ in PLAYERS) + " |")
    print("|---|---|" + "--:|" * len(PLAYERS))
    for changes in (True, False):
        for balanced in (False, True):
            rows: Array = np.array(
                [regrets(seed, changes=changes, balanced=balanced) for seed in range(SEEDS)]
            )
            cells = [f"{rows[:, 0].mean():,.0f}"]
            for n in range(1, len(PLAYERS)):
                error = (rows[:, n] / rows[:, 0]).std(ddof=1) / np.sqrt(SEEDS)
                ratio = rows[:, n].mean() / rows[:, 0].mean()
                cells.append(f"{rows[:, n].mean():,.0f} ({ratio:.2f} ± {error:.2f})")
            world = "changes four times" if changes else "stays"
            reg = "(sigma/norm)^2" if balanced else "1"
            print(f"| {world} | {reg} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
