"""The eager side of the comparisons: every criterion's inverse is updated in every round.

Sherman-Morrison on the lower half of each inverse: of a full inverse, our own rotations
and this, the fastest. Compiled as one function, single-threaded.
"""

from __future__ import annotations

import numba
import numpy as np

import trimtab as tt
from trimtab.arrays import Array, Ints

LOG_2 = float(np.log(2.0))


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def eager_rounds(
    rounds: int,
    losses: Array,
    sigma: float,
    phi: Array,
    offsets: Ints,
    starts: Ints,
    P: Array,
    b: Array,
) -> int:
    """Rounds in which every criterion sees a loss, updates, and tests its trigger; how many rang.

    A positive sigma draws normal noise on the losses.
    """
    work = np.empty(64)
    since = np.zeros(losses.size)
    triggers = 0
    for _ in range(rounds):
        for i in range(losses.size):
            y = losses[i]
            if sigma > 0.0:
                y += sigma * np.random.standard_normal()  # noqa: NPY002 - inside a kernel
            lo = offsets[i]
            d = offsets[i + 1] - lo
            p = starts[i]
            for r in range(d):
                work[r] = 0.0
            for r in range(d):
                x = 0.0
                f = phi[lo + r]
                for c in range(r):
                    x += P[p] * phi[lo + c]
                    work[c] += P[p] * f
                    p += 1
                work[r] += x + P[p] * f
                p += 1
            w = 1.0
            for r in range(d):
                w += work[r] * phi[lo + r]
            since[i] += np.log(w)
            if since[i] > LOG_2:
                since[i] = 0.0
                triggers += 1
            scale = 1.0 / w
            p = starts[i]
            for r in range(d):
                x = work[r] * scale
                for c in range(r + 1):
                    P[p] -= x * work[c]
                    p += 1
                b[lo + r] += y * phi[lo + r]
    return triggers


def inverses(problem: tt.Problem, reg: float) -> tuple[Ints, Array, Array]:
    """Where each lower half begins, all of them at V = reg I, and b = 0."""
    triangles = {int(n): np.eye(n)[np.tril_indices(n)] / reg for n in np.unique(problem.dims)}
    starts = np.concatenate(([0], np.cumsum([triangles[int(n)].size for n in problem.dims])))
    P = np.concatenate([triangles[int(n)] for n in problem.dims])
    return starts, P, np.zeros(int(problem.features.offsets[-1]))
