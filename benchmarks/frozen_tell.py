"""`tell` while the state is frozen, against updating every regression in every round.

Equal: the same m criteria, the same features, the same losses; afterwards both know the
same V and theta. Different: the eager side carries every loss into its matrices at once,
the lazy side keeps sums and would do it at the next flush (not timed: it comes once per
epoch). Both are compiled, single-threaded, and timed interleaved in one run; the figure is
the median. Each tell comes with all of its input checks.

The recommended policy, told nothing, also cuts wild losses, and its alarm listens for changes, here
in every 128th round: its tell is the mean over such rounds.

At m = 10^6 the arrays no longer fit a cache, and memory is the limit: the sums of a tell read the
losses and the shifts, and read and write two sums, 48 bytes a criterion. That over its time is
compared with the bandwidth of STREAM's triad, a = b + s c (24 bytes an entry) in a kernel of the
same kind, timed in the same run.

    python benchmarks/frozen_tell.py [m]
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable
from itertools import cycle

import numba
import numpy as np
from eager import eager_rounds, inverses

import trimtab as tt
from trimtab.arrays import Array


def median_seconds(
    sides: dict[str, Callable[[], object]], repeats: dict[str, int]
) -> dict[str, float]:
    """Each side in turn, five rounds of its `repeats`; the median time of a call."""
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
    losses = np.random.default_rng(1).normal(size=m)
    phi = problem.phi(start)
    starts, P, b = inverses(problem, 1e6)
    total, offsets = np.zeros(m), problem.features.offsets
    policy.tell(losses)

    sides: dict[str, Callable[[], object]] = {
        "frozen tell": lambda: policy.tell(losses),
        "np.add": lambda: np.add(total, losses, out=total),
        "eager": lambda: eager_rounds(1, losses, 0.0, phi, offsets, starts, P, b),
    }
    for call in sides.values():
        call()
    quick = max(1, 10**8 // m // 20)
    repeats = {"frozen tell": quick, "np.add": quick, "eager": 3}
    seconds = median_seconds(sides, repeats)
    assert policy.tell(losses).cause == "none"  # it really was frozen all along
    return seconds


def recommended(m: int, *, alarm: bool) -> dict[str, float]:
    """Seconds per round of the recommended policy in a frozen epoch, and of np.add."""
    hops = [(j, (j + hop) % m) for hop in (1, 2) for j in range(m)]
    problem = tt.Problem(tt.Graph.from_edges(m, hops), basis=tt.bases.PairwiseQuadratic())
    policy = tt.SteadyGraphLinUCB(problem, start=np.random.default_rng(0).random(m), alarm=alarm)
    policy.within(policy.ask(), policy.ask())  # looks are not timed: let them stay
    middle = np.random.default_rng(1).normal(size=m)
    both = cycle((middle + 1.0, middle - 1.0))
    while policy.learner.scales is None:
        policy.tell(next(both))
    policy.tell(middle, count=10**4)  # the next look is as many rounds away
    total, looks = np.zeros(m), policy.learner.solved
    assert np.isfinite(policy.learner.estimators.stats.high).all()  # losses are cut
    sides: dict[str, Callable[[], object]] = {
        "frozen tell": lambda: policy.tell(next(both)),
        "np.add": lambda: np.add(total, middle, out=total),
    }
    for call in sides.values():
        call()
    seconds = median_seconds(sides, {"frozen tell": 400, "np.add": 400})
    assert policy.learner.solved == looks
    assert not policy.learner.estimators.stats.cut.any()
    return seconds


@numba.njit
def triad(a: Array, b: Array, c: Array, s: float) -> None:
    """STREAM's triad."""
    for i in range(a.size):
        a[i] = b[i] + s * c[i]


def share_of_bandwidth(m: int) -> tuple[float, float]:
    """Bytes a second of a frozen tell, and of the triad."""
    j = np.arange(m)
    graph = tt.Graph.from_edges(m, np.column_stack((j, (j + 1) % m)))
    problem = tt.Problem(graph, basis=tt.bases.PairwiseQuadratic())
    policy = tt.LazyGraphLinUCB(
        problem, start=np.full(m, 0.5), radius=0.5, reg=1e6, cold_start="keep", review=False
    )
    losses = np.random.default_rng(1).normal(size=m)
    a, b, c = np.zeros(m), np.ones(m), np.ones(m)
    sides: dict[str, Callable[[], object]] = {
        "tell": lambda: policy.tell(losses),
        "triad": lambda: triad(a, b, c, 3.0),
    }
    for call in sides.values():
        call()
        call()
    seconds = median_seconds(sides, {"tell": 20, "triad": 20})
    return 48.0 * m / seconds["tell"], 24.0 * m / seconds["triad"]


def main() -> None:
    """Print the table."""
    m = int(sys.argv[1]) if len(sys.argv) > 1 else 10**5
    print(
        f"m = {m:,}, graph degree 4; Python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}, {platform.machine()}"
    )
    for basis in (tt.bases.PairwiseQuadratic(), tt.bases.Quadratic()):
        seconds = compare(m, basis)
        eager = seconds["eager"]
        print(f"\n{basis!r}")
        for name, value in seconds.items():
            print(f"  {name:<26}{value * 1e6:>12.1f} us a round")
        print(f"  eager / frozen tell = {eager / seconds['frozen tell']:.0f} (must reach 100)")
        print(
            f"  frozen tell / np.add = {seconds['frozen tell'] / seconds['np.add']:.2f} (stretch 4)"
        )
    for alarm in (False, True):
        seconds = recommended(m, alarm=alarm)
        print(f"\nThe recommended policy, told nothing, {'with' if alarm else 'without'} its alarm")
        for name, value in seconds.items():
            print(f"  {name:<26}{value * 1e6:>12.1f} us a round")
        ratio = seconds["frozen tell"] / seconds["np.add"]
        print(f"  frozen tell / np.add = {ratio:.2f} (must be at most 4.5)")
    mine, stream = share_of_bandwidth(10**6)
    print(f"\nm = 1,000,000: frozen tell {mine / 1e9:.1f} GB/s, triad {stream / 1e9:.1f} GB/s")
    print(f"  share of the bandwidth = {mine / stream:.2f} (must reach 0.5)")


if __name__ == "__main__":
    main()
