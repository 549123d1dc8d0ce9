"""Smoothed online optimisation beside Section 6: where does lazy gradient descent stand?

    python -m benchmarks.smoothed            # half a minute on one core
    python -m benchmarks.smoothed --short

In round t a target y_t appears, the loss is a/2 |x_t - y_t|^2, and moving costs
c |x_t - x_{t-1}|_1. Who is *informed* sees y_t before choosing x_t, as smoothed online
optimisation assumes; who is *late* sees it afterwards, as Section 6 and every live system do.
Costs are shares of the best path in hindsight, moves included.

`tt.ROBD` and `tt.LCP` are told the gradient: first told and then asked they are informed, asked
first they are late.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np

import trimtab as tt
from trimtab.arrays import Array, Ints

LEVELS = 201  # of a knob, for what is found on a grid
RECORDING = Path(__file__).parent / "league" / "recordings" / "cache-service.csv.gz"
Instance = tuple[Array, float, float]  # targets (T, k), a, c


def cost(path: Array, instance: Instance, start: Array) -> float:
    """Losses and moves of a path (T, k)."""
    targets, a, c = instance
    moves = np.abs(np.diff(path, axis=0, prepend=start[None]))
    return float(0.5 * a * ((path - targets) ** 2).sum() + c * moves.sum())


def squared_cost(path: Array, instance: Instance, start: Array) -> float:
    """Losses, and half the squared length of every move: what ROBD's guarantee is about."""
    targets, a, _ = instance
    moves = np.diff(path, axis=0, prepend=start[None])
    return float(0.5 * a * ((path - targets) ** 2).sum() + 0.5 * (moves**2).sum())


def offline(instance: Instance, start: Array) -> Array:
    """The best path in hindsight, every knob on a grid: dynamic programming."""
    targets, a, c = instance
    return np.column_stack(
        [_best_path(y, a, c, float(x)) for y, x in zip(targets.T, start, strict=True)]
    )


def _best_path(y: Array, a: float, c: float, start: float) -> Array:
    grid = np.unique(np.append(np.linspace(0.0, 1.0, LEVELS), start))
    step, n = c * np.diff(grid), grid.size
    value = c * np.abs(grid - start)
    came = np.empty((y.size, n), np.int64)
    for t in range(y.size):
        if t:
            value, came[t] = _least_arrival(value, step, step)
        value = value + 0.5 * a * (grid - y[t]) ** 2
    at = int(np.argmin(value))
    path = np.empty(y.size)
    for t in range(y.size - 1, -1, -1):
        path[t] = grid[at]
        at = int(came[t, at]) if t else at
    return path


def _least_arrival(value: Array, up: Array, down: Array) -> tuple[Array, Ints]:
    """min over x' of V(x') and the price of the way to x, in two sweeps; and where from."""
    best, origin = value.copy(), np.arange(value.size)
    for j in range(1, value.size):
        if best[j - 1] + up[j - 1] < best[j]:
            best[j], origin[j] = best[j - 1] + up[j - 1], origin[j - 1]
    for j in range(value.size - 2, -1, -1):
        if best[j + 1] + down[j] < best[j]:
            best[j], origin[j] = best[j + 1] + down[j], origin[j + 1]
    return best, origin


def offline_squared(instance: Instance, start: Array) -> Array:
    """The best path in hindsight for squared moves: a linear system."""
    targets, a, _ = instance
    T = len(targets)
    A = np.diag(np.full(T, a + 2.0)) - np.eye(T, k=1) - np.eye(T, k=-1)
    A[-1, -1] = a + 1.0
    b = a * targets
    b[0] = b[0] + start
    return np.asarray(np.linalg.solve(A, b))


def followed(
    policy: tt.ROBD | tt.LCP | tt.LazyOGD, instance: Instance, *, informed: bool = False
) -> Array:
    """The path of a policy: who is informed is told of a round before it is asked."""
    targets, a, _ = instance
    path = np.empty_like(targets)
    for t, y in enumerate(targets):
        path[t] = policy.ask()
        policy.tell(a * (path[t] - y))
        if informed:
            path[t] = policy.ask()
    return path


def robd(instance: Instance, start: Array, *, informed: bool = True) -> Array:
    """The path of ROBD, for moves that cost half their squared length."""
    return followed(
        tt.ROBD(tt.Box(), start=start, curvature=instance[1]), instance, informed=informed
    )


def lcp(instance: Instance, start: Array, *, informed: bool = True) -> Array:
    """The path of lazy capacity provisioning."""
    policy = tt.LCP(tt.Box(), start=start, curvature=instance[1], move_cost=instance[2])
    return followed(policy, instance, informed=informed)


def late(path: Array, start: Array) -> Array:
    """What an informed path becomes if every target is seen a round too late."""
    return np.vstack((start[None], path[:-1]))


def descent(instance: Instance, start: Array, budget: int) -> Array:
    """The path of lazy gradient descent with this number of switches, in blocks; late by nature."""
    targets, a, _ = instance
    T, k = targets.shape
    policy = tt.LazyOGD(tt.Box(), start=start, horizon=T, lipschitz=a * np.sqrt(k), budget=budget)
    return followed(policy, instance)


def drifting(rounds: int, knobs: int = 3, period: int = 400) -> Array:
    """Targets that go round, with noise."""
    t = np.arange(rounds)[:, None] / period + np.arange(knobs) / knobs
    noise = np.random.default_rng(0).normal(scale=0.1, size=(rounds, knobs))
    return np.clip(0.5 + 0.35 * np.sin(2.0 * np.pi * t) + noise, 0.0, 1.0)


def recorded(rounds: int) -> Array:
    """Three metrics of a real cache service, window after window, as demands between 0 and 1.

    They are ranks, so that each demand is spread evenly. The service was moved about while it was
    recorded: the demands jump every few windows.
    """
    with gzip.open(RECORDING, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    names = ("metric:latency_mean", "metric:db_time", "metric:memory")
    values = np.array([[float(row[name]) for name in names] for row in rows[:rounds]])
    ranks = np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0)
    return np.asarray(ranks / (len(values) - 1))


def table(targets: Array, name: str, prices: tuple[float, ...], a: float = 1.0) -> str:
    """Costs as shares of the best path in hindsight."""
    T, start = len(targets), np.full(targets.shape[1], 0.5)
    players: dict[str, Callable[[Instance], Array]] = {
        "follow the target, informed": lambda x: x[0],
        "ROBD, informed": lambda x: robd(x, start),
        "LCP, informed": lambda x: lcp(x, start),
        "follow the target, late": lambda x: late(x[0], start),
        "ROBD, late": lambda x: robd(x, start, informed=False),
        "LCP, late": lambda x: lcp(x, start, informed=False),
        "gradient descent, M = T": lambda x: descent(x, start, T),
        "lazy gradient descent, M = T / 10": lambda x: descent(x, start, T // 10),
        "lazy gradient descent, M = T / 100": lambda x: descent(x, start, max(T // 100, 1)),
        "the best fixed state": lambda x: np.tile(x[0].mean(axis=0), (T, 1)),
    }
    lines = [f"\n{name}, {T:,} rounds: cost / best path", ""]
    lines += ["| | " + " | ".join(f"c = {c:g}" for c in prices) + " |"]
    lines += ["|---|" + "--:|" * len(prices)]
    instances = [(targets, a, c) for c in prices]
    best = [cost(offline(x, start), x, start) for x in instances]
    for player, play in players.items():
        row = [cost(play(x), x, start) / b for x, b in zip(instances, best, strict=True)]
        lines.append(f"| {player} | " + " | ".join(f"{x:.2f}" for x in row) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    rounds = 100 if parser.parse_args().short else 1000
    prices = (0.01, 0.1, 1.0)
    print(table(drifting(rounds), "drifting targets", prices))
    print(table(recorded(rounds), "a recorded service", prices))


if __name__ == "__main__":
    main()
