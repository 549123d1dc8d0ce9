r"""A lower bound of G for any number of knobs, where their moral graph is narrow.

Each continuous knob's interval is cut into cells by grid points; `floor` shows that

    min G >= min over grid points v of (sum_i floor_i(v) + sum_j price_j |v_j - now_j|)

where floor_i(v) allows for the drift in the cells that meet in v. The right-hand side is a
min-sum problem over finitely many points a knob, solved exactly by `elimination`. What it
loses is of second order in the cells' widths, and only where the minimising grid point lies:
so the cells around that point are halved, for the knobs that lose most there, and again.
Far from every minimiser the cells stay coarse.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.model.domain import BoundBox
from trimtab.solve import elimination
from trimtab.solve.certify.box_bound import Floor, floors
from trimtab.solve.elimination import undominated
from trimtab.solve.subproblem import Part

NARROWEST = 1e-7  # cells are not halved below this width
SHARE = 0.2  # knobs that lose less than this share of the greatest loss are left alone


@dataclass(frozen=True)
class Axis:
    """The grid of one knob: its points, and how its features bend in the cells beside each."""

    points: Array  # (S,) ascending
    bend: Array  # (S, B) the larger of the two cells'
    top: Array  # (S,) the upper end of the cells
    solid: bool  # whether there are cells; levels are single points


@dataclass(frozen=True)
class Proof:
    """What has been proven of the least G, and the best state met on the way."""

    value: float  # no state has a smaller G; -inf when nothing is known
    spent: int  # of the budget
    state: Array  # (k,) the incumbent, or a better one
    upper: float  # G(state)


def lower_bound(part: Part, incumbent: Array, *, target: float, budget: int) -> Proof:
    """A value that no G of the part is below, and the best state met on the way.

    Args:
        part: what is minimised.
        incumbent: a good state, (k,); the first grid passes through it.
        target: halving stops once G(best state) - bound is at most this.
        budget: entries of tables and bags that may be computed, all rounds together.

    Returns:
        The greatest bound proven; -inf where not even the first grid fits the budget, and
        for balls and user functions.
    """
    best, upper, value, spent = incumbent, part.value(incumbent), -np.inf, 0
    terms, domain = floors(part), part.bound.domain
    if not terms or not isinstance(domain, BoundBox):
        return Proof(value, spent, best, upper)
    axes = [_first_axis(part, domain, terms[0], j, incumbent[j]) for j in part.knobs.tolist()]
    tables: list[Array] = []
    stale = [True] * len(axes)
    while (room := budget - spent - _entries(terms, axes, stale)) >= 0:
        tables = _tables(part, terms, axes, stale, tables)
        choice, least, bags = _minimum(terms, axes, tables, room)
        spent = budget - room + bags
        value = max(value, least)
        if choice is None:  # the grid point nearest to the best state
            places = zip(axes, best[part.knobs], strict=True)
            choice = np.array([np.abs(axis.points - x).argmin() for axis, x in places])
        state = part.put(np.array([axis.points[c] for axis, c in zip(axes, choice, strict=True)]))
        here = part.value(state)
        if here < upper:
            best, upper = state, here
        if upper - value <= target:
            break
        finer = _halved(terms, axes, choice)
        stale = [new is not old for new, old in zip(finer, axes, strict=True)]
        if not any(stale):
            break
        axes = finer
    return Proof(min(value, upper), spent, best, upper)


def _first_axis(part: Part, domain: BoundBox, term: Floor, j: int, at: float) -> Axis:
    low, high = float(domain.low[j]), float(domain.high[j])
    levels = domain.levels_of(j)
    if levels.size:
        return _axis(term, levels, solid=False)
    points = {low, (low + at) / 2.0, at, (at + high) / 2.0, high}
    if part.price[j] > 0.0:
        points.add(min(max(float(part.now[j]), low), high))  # the price is linear in every cell
    return _axis(term, np.array(sorted(points)), solid=True)


def _axis(term: Floor, points: Array, *, solid: bool) -> Axis:
    ends = np.concatenate((points[:1], points, points[-1:]))
    bends = term.enclosure.bend(ends[:-1], ends[1:])  # of the cells, and nothing beyond the ends
    bend = np.maximum(bends[:-1], bends[1:])
    return Axis(points, bend if solid else 0.0 * bend, ends[2:] if solid else points, solid)


def _entries(terms: list[Floor], axes: list[Axis], stale: list[bool]) -> int:
    """The size of the tables that must be computed."""
    return sum(
        prod(axes[n].points.size for n in term.places)
        for term in terms
        if any(stale[n] for n in term.places)
    )


def _tables(
    part: Part, terms: list[Floor], axes: list[Axis], stale: list[bool], known: list[Array]
) -> list[Array]:
    """The floors of all criteria on the grid, then the price of every point of every knob."""
    tables = []
    for i, term in enumerate(terms):
        if not any(stale[n] for n in term.places):
            tables.append(known[i])
            continue
        own = [axes[n] for n in term.places]
        shape = tuple(axis.points.size for axis in own)
        tables.append(_floors(term, own, np.indices(shape)).reshape(shape))
    for j, axis in zip(part.knobs.tolist(), axes, strict=True):
        tables.append(part.price[j] * np.abs(axis.points - part.now[j]))
    return tables


def _minimum(
    terms: list[Floor], axes: list[Axis], tables: list[Array], most: int
) -> tuple[Ints | None, float, int]:
    """The best grid point, the least sum of all tables and the bag entries that it took.

    Where the elimination does not fit, no point, and a lower bound of the least sum.
    """
    n = len(axes)
    scopes = [term.places for term in terms] + [np.array([p]) for p in range(n)]
    kept, left = undominated(scopes, tables, n)
    counts = np.array([candidates.size for candidates in kept])
    plan = elimination.plan(scopes, counts, most)
    if plan is None:
        return None, float(sum(table.min() for table in left)), 0
    flat = np.concatenate([table.ravel() for table in left])
    choice, least, bags = plan.minimum(flat, np.zeros(counts.sum()))
    picked = np.array([kept[p][c] for p, c in enumerate(choice)])
    return picked, least, bags


def _floors(term: Floor, own: list[Axis], at: Ints) -> Array:
    """The floors of one criterion at grid points, given by an index (...) for each knob."""
    pick = [(axis, index.ravel()) for axis, index in zip(own, at, strict=True)]
    X = np.stack([axis.points[n] for axis, n in pick], axis=1)
    bend = np.stack([axis.bend[n] for axis, n in pick], axis=1)
    top = np.stack([axis.top[n] for axis, n in pick], axis=1)
    return term(X, bend, top)[1]


def _halved(terms: list[Floor], axes: list[Axis], choice: Ints) -> list[Axis]:
    """Finer grids around the chosen point, for the knobs that lose most there."""
    loss = _losses(terms, axes, choice)
    finer = list(axes)
    for n in np.flatnonzero(loss > SHARE * loss.max()).tolist():
        finer[n] = _halve(terms[0], axes[n], int(choice[n]))
    return finer


def _losses(terms: list[Floor], axes: list[Axis], choice: Ints) -> Array:
    """What the drift along each knob takes from the floors of its readers at the choice."""
    loss = np.zeros(len(axes))
    for term in terms:
        own = [axes[n] for n in term.places]
        size = len(own)
        X = np.tile([a.points[choice[n]] for a, n in zip(own, term.places, strict=True)], (size, 1))
        top = np.tile([a.top[choice[n]] for a, n in zip(own, term.places, strict=True)], (size, 1))
        bend = np.zeros((size, size, own[0].bend.shape[1]))
        for p, n in enumerate(term.places):
            bend[p, p] = own[p].bend[choice[n]]
        value, floor = term(X, bend, top)
        loss[term.places] += value - floor
    return loss


def _halve(term: Floor, axis: Axis, c: int) -> Axis:
    """The axis with the cells beside point c halved."""
    points = axis.points
    if not axis.solid:
        return axis
    ends = points[max(c - 1, 0) : c + 2]
    wide = np.diff(ends) > NARROWEST
    if not wide.any():
        return axis
    middle = (ends[:-1] + ends[1:])[wide] / 2.0
    return _axis(term, np.sort(np.concatenate((points, middle))), solid=True)
