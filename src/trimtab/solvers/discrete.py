"""Minimisation over listed values of the free knobs: exact where those are all that matter.

On a knob with levels nothing else is allowed. Where every feature is linear in the free
knobs, F is concave, so it has a minimiser at a vertex of the box; a price of movement
adds a kink at the present value, and makes that one more candidate. Elsewhere states that
others have found are mixed.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints
from trimtab.bases import Features, Monomials
from trimtab.bases.features import offsets_of
from trimtab.bases.monomial import MonomialArrays
from trimtab.compiled import bare, inner
from trimtab.domain import BoundBox
from trimtab.solvers import elimination, flips, tables
from trimtab.solvers.dominance import undominated
from trimtab.solvers.part import Part
from trimtab.solvers.solution import better

MOST_WORK = 2**25  # table entries, times the features of each, of an exact solve
MOST_CALLS = 2**12  # the same where every entry is a call of a basis in Python
MOST_ENTRIES = 2**21  # of the elimination
MOST_PRUNED = 200  # criteria, for a second try without dominated values
MIX_ENTRIES, MIX_ENTRIES_PER_KNOB = 5000, 150  # for mixtures of states
MERGED = 1e-3  # of a knob's interval: values this close are one


class Found(NamedTuple):
    """The best combination of candidates."""

    values: Array  # (n,)
    value: float
    least: float  # no combination is below
    entries: int


def candidates(part: Part, domain: BoundBox, features: Features) -> list[Array] | None:
    """Values of each free knob among which there is a minimiser; None where nobody knows."""
    if not _linear(part, features) and (
        not domain.leveled.size or np.setdiff1d(part.knobs, domain.leveled).size
    ):
        return None
    j = part.knobs
    kink = np.where(part.price[j] > 0.0, part.now[j], domain.low[j])
    return _axes(part, domain, [domain.low[j], kink, domain.high[j]])


def _axes(part: Part, domain: BoundBox, values: ArrayLike) -> list[Array]:
    """Of each free knob its levels, or else its own of the values: (c, n)."""
    mine = np.sort(np.asarray(values, float), axis=0).T
    new = np.ones(mine.shape, bool)
    new[:, 1:] = mine[:, 1:] > mine[:, :-1]
    axes = _rows(np.sort(np.where(new, mine, np.inf)), new.sum(axis=1))
    if domain.leveled.size:
        for n in np.flatnonzero(np.isin(part.knobs, domain.leveled)).tolist():
            axes[n] = domain.levels_of(part.knobs[n])
    return axes


def _rows(values: Array, sizes: Ints) -> list[Array]:
    """So many of the first entries of each row."""
    flat = values[np.arange(values.shape[1]) < sizes[:, None]]
    return [flat[a:b] for a, b in pairwise(offsets_of(sizes).tolist())]


def _linear(part: Part, features: Features) -> bool:
    """Whether every feature is linear in the free knobs together."""
    if not isinstance(features, Monomials):
        return False
    return all_linear(part.criteria, part.knobs, features.arrays)


@bare
def all_linear(criteria: Ints, knobs: Ints, maps: MonomialArrays) -> bool:
    """Whether every feature of these criteria is linear in these knobs, ascending, together."""
    for i in criteria:
        for f in range(maps.offsets[i], maps.offsets[i + 1]):
            if maps.p[f] + maps.q[f] > 1:
                left, right = maps.a[f], maps.b[f]
                degree = maps.p[f] if knobs[_place(knobs, left)] == left else 0
                degree += maps.q[f] if knobs[_place(knobs, right)] == right else 0
                if degree > 1:
                    return False
    return True


@inner
def _place(knobs: Ints, j: int) -> int:
    """Where knob j is among these, or would be, but no further than the last."""
    low, high = 0, knobs.size - 1
    while low < high:
        middle = (low + high) // 2
        if knobs[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low


def exact(part: Part, values: list[Array]) -> Found | None:
    """The best combination of all, or None where finding it would take too much work."""
    problem = part.lcb.problem
    if not isinstance(problem.features, Monomials):
        work, most = tables.entries(part, _counts(values)), MOST_CALLS
    else:
        widest = int(problem.dims[part.criteria].max())
        work, most = tables.entries(part, _counts(values)) * widest, MOST_WORK
    return _eliminate(part, values, MOST_ENTRIES, prune=True) if work <= most else None


def mixture(part: Part, domain: BoundBox, states: Array, lookups: int, seed: int) -> Found | None:
    """The best mixture found of these states, (c, n), best first, and of the knobs' ends.

    Knob by knob the values may come from different states. What is too much for tables is left
    out, beginning with the last state. None where not even two states can be mixed.
    """
    j = part.knobs
    low, high = domain.low[j], domain.high[j]
    rows = np.concatenate([states, [low, high]])
    most = MIX_ENTRIES + MIX_ENTRIES_PER_KNOB * j.size
    new = np.ones(rows.shape, bool)
    for c in range(1, rows.shape[0]):
        apart = np.abs(rows[c] - rows[:c]) > MERGED * (high - low)
        new[c] = (apart | ~new[:c]).all(axis=0)
    while rows.shape[0] > 1 and tables.entries(part, new.sum(axis=0)) > most:
        rows, new = rows[:-1], new[:-1]
    if new[1:].sum() == 0:
        return None
    start = (new & (rows < rows[0])).sum(axis=0)
    axes = _rows(np.sort(np.where(new, rows, np.inf), axis=0).T, new.sum(axis=0))
    found = _eliminate(part, axes, most, prune=False)
    return _search(part, axes, start, lookups, seed) if found is None else found


def _search(part: Part, axes: list[Array], start: Ints, lookups: int, seed: int) -> Found:
    """A good combination, by flips from the one given."""
    _, flat = tables.tables(part, axes)
    choice, looked = flips.descend(part.scopes, _counts(axes), flat, start, lookups, seed)
    best = np.array([axis[c] for axis, c in zip(axes, choice, strict=True)])
    return Found(best, part.value(part.put(best)), -np.inf, flat.size + looked)


def _counts(values: list[Array]) -> Ints:
    return np.array([axis.size for axis in values], np.int64)


def _eliminate(part: Part, values: list[Array], most: int, *, prune: bool) -> Found | None:
    """The best combination; with `prune` a second try leaves out what is dominated."""
    reads, counts = part.scopes, _counts(values)
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
