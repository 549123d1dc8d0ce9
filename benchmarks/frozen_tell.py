"""`tell` while the state is frozen, against updating every regression in every round.

Equal: the same m criteria, the same features, the same losses; afterwards both know the
same V and theta. Different: the eager side carries every loss into its matrices at once,
the lazy side keeps sums and would do it at the next flush (not timed: it comes once per
epoch). Two eager sides are timed and the faster is the reference: Sherman-Morrison on the
full inverse, the usual choice, and the rotations of our own flush. All are compiled,
single-threaded, and timed interleaved in one run; the figure is the median.

    python benchmarks/frozen_tell.py [m]
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable

import numba
import numpy as np

import trimtab as tt
from trimtab.arrays import Array, Ints


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def sherman_morrison(
    losses: Array, phi: Array, offsets: Ints, squares: Ints, P: Array, b: Array, work: Array
) -> None:
    """P_i = V_i^{-1} and b_i take one more datum, for every criterion."""
    for i in range(losses.size):
        lo, d = offsets[i], offsets[i + 1] - offsets[i]
        block = P[squares[i] : squares[i + 1]].reshape(d, d)
        w = 1.0
        for r in range(d):
            x = 0.0
            for c in range(d):
                x += block[r, c] * phi[lo + c]
            work[r] = x
            w += x * phi[lo + r]
        for r in range(d):
            x = work[r] / w
            for c in range(d):
                block[r, c] -= x * work[c]
            b[lo + r] += losses[i] * phi[lo + r]


def median_seconds(
    sides: dict[str, Callable[[], object]], repeats: dict[str, int]
) -> dict[str, float]:
    """Each side in turn, five rounds of so many calls; the median time of a call."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(5):
        for name, call in sides.items():
            begin = time.perf_counter()
            for _ in range(repeats[name]):
                call()
            times[name].append((time.perf_counter() - begin) / repeats[name])
    return {name: float(np.median(values)) for name, values in times.items()}


def compare(m: int, basis: tt.bases.Basis) -> dict[str, float]:
    """Seconds per round of every side, for m criteria on a graph of degree 4."""
    hops = [(j, (j + hop) % m) for hop in (1, 2) for j in range(m)]
    problem = tt.Problem(tt.Graph.from_edges(m, hops), basis=basis)
    start = np.random.default_rng(0).random(m)
    policy = tt.LazyGraphLinUCB(
        problem, start=start, radius=0.5, reg=1e6, cold_start="keep", review=False
    )
    estimators, d = policy.learner.estimators, problem.dims
    losses = np.random.default_rng(1).normal(size=m)
    phi = problem.phi(start)
    squares = np.concatenate(([0], np.cumsum(d**2)))
    P = np.concatenate([np.eye(n).ravel() for n in d]) * 1e-6
    b, work, total = np.zeros(phi.size), np.zeros(int(d.max())), np.zeros(m)
    count = np.ones(m, np.int64)
    policy.tell(losses)

    def rotations() -> None:
        estimators.add_elsewhere(losses, count, start)

    sides: dict[str, Callable[[], object]] = {
        "frozen tell": lambda: policy.tell(losses),
        "np.add": lambda: np.add(total, losses, out=total),
        "eager, Sherman-Morrison": lambda: sherman_morrison(
            losses, phi, problem.features.offsets, squares, P, b, work
        ),
    }
    for call in sides.values():
        call()
    quick = max(1, 10**8 // m // 20)
    repeats = {"frozen tell": quick, "np.add": quick, "eager, Sherman-Morrison": 3}
    seconds = median_seconds(sides, repeats)
    assert policy.tell(losses).cause == "none"  # it really was frozen all along
    rotations()
    begin = time.perf_counter()
    for _ in range(3):
        rotations()
    seconds["eager, rotations"] = (time.perf_counter() - begin) / 3
    return seconds


def main() -> None:
    """Print the table."""
    m = int(sys.argv[1]) if len(sys.argv) > 1 else 10**5
    print(
        f"m = {m:,}, graph degree 4; Python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}, {platform.machine()}"
    )
    for basis in (tt.bases.PairwiseQuadratic(), tt.bases.Quadratic()):
        seconds = compare(m, basis)
        eager = min(value for name, value in seconds.items() if name.startswith("eager"))
        print(f"\n{basis!r}")
        for name, value in seconds.items():
            print(f"  {name:<26}{value * 1e6:>12.1f} us a round")
        print(f"  eager / frozen tell = {eager / seconds['frozen tell']:.0f} (must reach 100)")
        print(
            f"  frozen tell / np.add = {seconds['frozen tell'] / seconds['np.add']:.2f} (stretch 4)"
        )


if __name__ == "__main__":
    main()
