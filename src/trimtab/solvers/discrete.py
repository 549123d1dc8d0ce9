"""Minimisation over listed values of the free knobs: exact where those are all that matter.

On a knob with levels nothing else is allowed. Where every feature is linear in the free
knobs, F is concave, so it has a minimiser at a vertex of the box; a price of movement
adds a kink at the present value, and makes that one more candidate. Elsewhere a coarse
grid is only a good place to start from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases import Features, Monomials
from trimtab.domain import BoundBox
from trimtab.solvers import elimination, tables
from trimtab.solvers.dominance import undominated
from trimtab.solvers.part import Part
from trimtab.solvers.solution import better

MOST_WORK = 2**25  # table entries, times the features of each, of an exact solve
MOST_CALLS = 2**12  # the same where every entry is a call of a basis in Python
MOST_ENTRIES = 2**21  # of the elimination
MOST_PRUNED = 200  # criteria, for a second try without dominated values
GRID = 5  # values of a knob for a start
GRID_ENTRIES = 4000  # per knob, for a start
MIX_ENTRIES, MIX_ENTRIES_PER_KNOB = 100_000, 300  # for mixtures of a state and the corners


class Found(NamedTuple):
    """The best combination of candidates."""

    values: Array  # (n,)
    value: float
    least: float  # no combination is below
    entries: int


def candidates(part: Part, domain: BoundBox, features: Features) -> list[Array] | None:
    """Values of each free knob among which there is a minimiser; None where nobody knows."""
    ends = _linear(part, features)
    if not ends and np.setdiff1d(part.knobs, domain.leveled).size:
        return None
    found = []
    for j in part.knobs.tolist():
        levels = domain.levels_of(j)
        if levels.size == 0:
            kink = [part.now[j]] if part.price[j] > 0.0 else []
            levels = np.unique([domain.low[j], *kink, domain.high[j]])
        found.append(levels)
    return found


def _linear(part: Part, features: Features) -> bool:
    """Whether every feature is linear in the free knobs together."""
    if not isinstance(features, Monomials):
        return False
    _, a, b, p, q, _ = features.arrays
    mine = np.concatenate([np.arange(*features.offsets[i : i + 2]) for i in part.criteria])
    free = np.zeros(part.now.size, bool)
    free[part.knobs] = True
    return bool((p[mine] * free[a[mine]] + q[mine] * free[b[mine]] <= 1).all())


def exact(part: Part, values: list[Array]) -> Found | None:
    """The best combination of all, or None where finding it would take too much work."""
    problem = part.lcb.problem
    if not isinstance(problem.features, Monomials):
        work, most = tables.entries(part, _counts(values)), MOST_CALLS
    else:
        widest = int(problem.dims[part.criteria].max())
        work, most = tables.entries(part, _counts(values)) * widest, MOST_WORK
    return _eliminate(part, values, MOST_ENTRIES, prune=True) if work <= most else None


def coarse(part: Part, domain: BoundBox) -> Found | None:
    """The best of a coarse grid, or None where finding it would take too much work."""
    axes = [
        levels if (levels := domain.levels_of(j)).size else np.unique(_spread(j, domain))
        for j in part.knobs.tolist()
    ]
    most = GRID_ENTRIES * part.knobs.size
    if tables.entries(part, _counts(axes)) > most:
        return None
    return _eliminate(part, axes, most, prune=False)


def around(part: Part, domain: BoundBox, values: Array) -> Found | None:
    """The best mixture of these values and the ends of the knobs' intervals, or None as above."""
    axes = [
        levels
        if (levels := domain.levels_of(j)).size
        else np.unique([domain.low[j], x, domain.high[j]])
        for j, x in zip(part.knobs.tolist(), values.tolist(), strict=True)
    ]
    most = MIX_ENTRIES + MIX_ENTRIES_PER_KNOB * part.knobs.size
    if tables.entries(part, _counts(axes)) > most:
        return None
    return _eliminate(part, axes, most, prune=False)


def _spread(j: int, domain: BoundBox) -> Array:
    return np.linspace(domain.low[j], domain.high[j], GRID)


def _counts(values: list[Array]) -> Ints:
    return np.array([axis.size for axis in values], np.int64)


def _eliminate(part: Part, values: list[Array], most: int, *, prune: bool) -> Found | None:
    """The best combination; with `prune` a second try leaves out what is dominated."""
    reads, counts = tables.scopes_of(part), _counts(values)
    plan = elimination.plan(reads, counts, most)
    if plan is None and not (prune and part.criteria.size <= MOST_PRUNED):
        return None
    _, flat = tables.tables(part, values)
    spent = flat.size
    if plan is None:
        shapes = [counts[scope] for scope in reads]
        ends = np.cumsum([shape.prod() for shape in shapes])[:-1]
        parts = [t.reshape(shape) for t, shape in zip(np.split(flat, ends), shapes, strict=True)]
        kept, left = undominated(reads, parts, counts.size)
        values = [axis[keep] for axis, keep in zip(values, kept, strict=True)]
        plan = elimination.plan(reads, _counts(values), most)
        flat = np.concatenate([table.ravel() for table in left])
    if plan is None:
        return None
    now = part.now[part.knobs]
    far = np.concatenate([np.abs(axis - x) for axis, x in zip(values, now, strict=True)])
    choice, least = elimination.minimum(plan, flat, far)
    best = np.array([axis[c] for axis, c in zip(values, choice, strict=True)])
    value, at_now = part.value(part.put(best)), part.value(part.now)
    if better(now, at_now, best, value, now):
        best, value = now, at_now
    return Found(best, value, min(least, value), spent + plan.entries)
