"""Minimisation over listed values of the free knobs: exact where those are all that matter.

On a knob with levels nothing else is allowed. Where every feature is linear in the free
knobs, F is concave, so it has a minimiser at a vertex of the box; a price of movement
adds a kink at the present value, and makes that one more candidate.

A criterion's term depends on the knobs of its own scope only, so it is a table over their
candidates, and G is a sum of tables.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from trimtab._core import choose
from trimtab.arrays import Array, Ints
from trimtab.model.bases.features import offsets_of
from trimtab.model.domain import BoundBox
from trimtab.solve import elimination
from trimtab.solve.elimination import undominated
from trimtab.solve.solution import Solution
from trimtab.solve.subproblem import Part

MOST_WORK = 2**25  # table entries, times the features of each, of an exact solve
MOST_CALLS = 2**12  # the same where every entry is a call of a basis in Python
MOST_ENTRIES = 2**21  # of the elimination
MOST_PRUNED = 200  # criteria, for a second try without dominated values


def exact(part: Part, domain: BoundBox) -> Solution | None:
    """The best state of all, where levels, vertices and the present state are all that matter.

    The features are monomials that are linear in the free knobs together, or these knobs have
    levels. None where they have not, and where finding it would take too much work.
    """
    problem = part.bound.problem
    monomial = part.bound.core is not None
    if not monomial and not np.isin(part.knobs, domain.leveled).all():
        return None
    values = [_candidates(part, domain, j) for j in part.knobs.tolist()]
    work, most = entries(part, _counts(values)), MOST_CALLS
    if monomial:
        work, most = work * int(problem.dims[part.criteria].max()), MOST_WORK
    return _eliminate(part, values) if work <= most else None


def _candidates(part: Part, domain: BoundBox, j: int) -> Array:
    """The levels of a knob, or else its ends and, where leaving it costs something, its place."""
    kink = {float(part.now[j])} if part.price[j] > 0.0 else set()
    levels = domain.levels_of(j)
    return levels if levels.size else np.array(sorted({domain.low[j], domain.high[j]} | kink))


def _counts(values: list[Array]) -> Ints:
    return np.array([axis.size for axis in values], np.int64)


def _eliminate(part: Part, values: list[Array]) -> Solution | None:
    """The best combination; a second try leaves out what is dominated."""
    reads, counts = part.scopes, _counts(values)
    plan = elimination.plan(reads, counts, MOST_ENTRIES)
    if plan is None and part.criteria.size > MOST_PRUNED:
        return None
    _, flat = tables(part, values)
    work = flat.size
    if plan is None:
        shapes = [counts[scope] for scope in reads]
        ends = np.cumsum([shape.prod() for shape in shapes])[:-1]
        parts = [t.reshape(shape) for t, shape in zip(np.split(flat, ends), shapes, strict=True)]
        kept, left = undominated(reads, parts, counts.size)
        values = [axis[keep] for axis, keep in zip(values, kept, strict=True)]
        plan = elimination.plan(reads, _counts(values), MOST_ENTRIES)
        flat = np.concatenate([table.ravel() for table in left])
    if plan is None:
        return None
    now = part.now[part.knobs]
    far = np.concatenate([np.abs(axis - x) for axis, x in zip(values, now, strict=True)])
    choice, least, bags = plan.minimum(flat, far)
    best = np.array([axis[c] for axis, c in zip(values, choice, strict=True)])
    value, at_now = part.value(part.put(best)), part.value(part.now)
    if choose(np.array([best, now]), np.array([value, at_now]), now) == 1:
        best, value = now, at_now
    return Solution(best, value, min(least, value), work + bags)


def entries(part: Part, counts: Ints) -> float:
    """The number of table entries, with these numbers of candidates."""
    return float(_sizes(part.scopes, counts).sum())


def _sizes(scopes: list[Ints], counts: Ints) -> Array:
    """The number of entries of each table, as floats, which do not overflow."""
    starts = offsets_of(np.array([scope.size for scope in scopes], np.int64))
    return np.asarray(
        np.multiply.reduceat(counts[np.concatenate(scopes)], starts[:-1], dtype=float)
    )


def tables(part: Part, candidates: list[Array]) -> tuple[list[Ints], Array]:
    """G as a sum of factors: what each reads, and their tables in C order, one after another.

    First come the part's criteria, where knobs that are not free stay as they are now, then
    the price of every free knob whose moves cost anything. Scopes are positions in
    `part.knobs`.

    Args:
        part: whose G is tabulated.
        candidates: the values of each of its knobs.
    """
    scopes = part.scopes
    counts = np.array([values.size for values in candidates], np.int64)
    starts = offsets_of(_sizes(scopes, counts).astype(np.int64))
    flat = np.empty(int(starts[-1]))
    objective = part.bound.core
    if objective is not None:
        flat[: starts[part.criteria.size]] = objective.tabulate(
            part.now, part.knobs, part.criteria, offsets_of(counts), np.concatenate(candidates)
        )
    else:
        for c in range(part.criteria.size):
            flat[starts[c] : starts[c + 1]] = _by_value(part, c, scopes[c], candidates)
    for c in range(part.criteria.size, len(scopes)):
        n = int(scopes[c][0])
        j = part.knobs[n]
        flat[starts[c] : starts[c + 1]] = part.price[j] * np.abs(candidates[n] - part.now[j])
    return scopes, flat


def _by_value(part: Part, c: int, scope: Ints, candidates: list[Array]) -> list[float]:
    """The table of the part's c-th criterion, by one evaluation per entry."""
    state = part.now.copy()
    criterion = part.criteria[c : c + 1]
    table = []
    for values in product(*(candidates[p] for p in scope)):
        state[part.knobs[scope]] = values
        table.append(part.bound.value(state, criterion))
    return table
