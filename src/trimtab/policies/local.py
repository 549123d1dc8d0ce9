"""The local update of Section 5.1 as one kernel: no allocation, no Python object per criterion.

`Learner.resolve` says the same in a few readable lines, and is what runs for other bases, domains
and radii, and what the tests compare this with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases import Monomials
from trimtab.bases.monomial import fill
from trimtab.compiled import Structure, bare, inner
from trimtab.domain import BoundBox
from trimtab.estimators import agenda
from trimtab.estimators.book import Book, flush, measure
from trimtab.estimators.confidence import BoundConfidence, FixedRadius
from trimtab.lcb import LCB
from trimtab.policies.parts import Parts, new_parts
from trimtab.solvers.coordinate import COARSE, STEPS, descend, finish, set_out
from trimtab.solvers.discrete import all_linear
from trimtab.solvers.solution import TIED
from trimtab.solvers.walk import Walk, walk_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Local(Structure):
    """What a local update reads and writes. The deployed state is `walk.current`."""

    walk: Walk
    book: Book
    parts: Parts
    tree: Ints  # the agenda
    grows: int  # whether radii grow with what is learned, as in the log-det form
    sigma: Array  # (m,); it and those below are empty where radii do not grow
    norm: Array  # (m,)
    reg: Array  # (m,)
    extra: float  # 2 log(m / delta)
    width: Array  # (2,) W at the deployed state, and what rounding has left out of it
    moved: Ints  # (k,) the knobs moved by the last update, until the next search


def new_local(lcb: LCB, tree: Ints) -> Local | None:
    """What updates of this LCB need, or None where they are made by hand."""
    problem, radius, book = lcb.problem, lcb.radius, lcb.estimators.book
    domain, features, m = problem.domain, problem.features, problem.criteria
    if not (isinstance(domain, BoundBox) and isinstance(features, Monomials)):
        return None
    if domain.leveled.size:
        return None
    sigma = norm = reg = np.empty(0)
    extra = 0.0
    if isinstance(radius, BoundConfidence):
        if radius.sigma is None or radius.form != "logdet":
            return None
        sigma, norm, reg = radius.sigma, radius.norm, lcb.estimators.reg
        extra = 2.0 * float(np.log(m / radius.delta))
    elif not isinstance(radius, FixedRadius):
        return None
    walk = walk_of(lcb, domain, features)
    return Local(
        walk=walk,
        book=book,
        parts=new_parts(problem.graph),
        tree=tree,
        grows=int(not radius.constant),
        sigma=sigma,
        norm=norm,
        reg=reg,
        extra=extra,
        width=np.zeros(2),
        moved=walk.trail.ring,
    )


@bare
def listed(found: int, local: Local) -> bool:
    """Whether some part is linear in its knobs, so that its minimum is a matter of vertices."""
    parts, maps = local.parts, local.walk.land.maps
    for p in range(found):
        knobs = parts.knobs[parts.knob_ends[p] : parts.knob_ends[p + 1]]
        criteria = parts.criteria[parts.criterion_ends[p] : parts.criterion_ends[p + 1]]
        if all_linear(criteria, knobs, maps):
            return True
    return False


@bare
def update(triggered: Ints, found: int, common: int, factor: float, local: Local) -> int:
    """Free the parts found and reset the clocks of those that triggered; how many knobs moved.

    Nothing may be owed to the criteria concerned. Where values are beyond floating point it is
    -1: nothing moves, and no clock is reset.
    """
    parts, walk, book = local.parts, local.walk, local.book
    affected = parts.affected[: parts.criterion_ends[found]]
    _widen(affected, -1.0, local)
    flush(affected, common, book)
    if local.grows == 1:
        for i in affected:
            bias = np.sqrt(local.reg[i]) * local.norm[i]
            walk.land.radii[i] = local.sigma[i] * np.sqrt(book.gain[i] + local.extra) + bias
    finite = True
    for p in range(found):
        knobs = parts.knobs[parts.knob_ends[p] : parts.knob_ends[p + 1]]
        criteria = parts.criteria[parts.criterion_ends[p] : parts.criterion_ends[p + 1]]
        finite &= _search(knobs, criteria, walk)
    moved = 0 if finite else -1
    for n in range(parts.knob_ends[found]):
        j = parts.knobs[n]
        if not finite:
            walk.s[j] = walk.current[j]
        elif walk.s[j] != walk.current[j]:
            walk.current[j] = walk.s[j]
            local.moved[moved] = j
            moved += 1
    if finite:
        for i in triggered:
            book.since[i] = 0.0
    fill(book.phi, walk.current, affected, walk.land.maps)
    measure(affected, factor, book)
    _widen(affected, 1.0, local)
    for i in affected:
        agenda.put_one(local.tree, i, book.due, book.n)
    return moved


@inner
def _search(knobs: Ints, criteria: Ints, walk: Walk) -> bool:
    """Leave s where a descent of these knobs leads, or at the present state if that ties.

    What `solve` does at effort 0 without a price; whether the value is a number.
    """
    set_out(knobs, criteria, walk)
    descend(knobs, criteria, COARSE, STEPS, walk)
    here = walk.trail.start[0]
    value = finish(knobs, criteria, walk)
    if not here - value > TIED * max(abs(here), abs(value)):
        for j in knobs:
            walk.s[j] = walk.current[j]
    return bool(np.isfinite(value))


@inner
def _widen(criteria: Ints, sign: float, local: Local) -> None:
    """Add or take away the widths of these criteria."""
    book, land, width = local.book, local.walk.land, local.width
    for i in criteria:
        add_to(width, sign * land.weights[i] * land.radii[i] * np.sqrt(book.spread[i]))


@inner
def add_to(total: Array, x: float) -> None:
    """A sum in two parts, the second what rounding leaves out of the first (Neumaier)."""
    after = total[0] + x
    if abs(total[0]) >= abs(x):
        total[1] += (total[0] - after) + x
    else:
        total[1] += (x - after) + total[0]
    total[0] = after
