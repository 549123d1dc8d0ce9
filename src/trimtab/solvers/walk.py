"""Everything a search by single knobs works with, made once for an LCB and used again."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from trimtab.arrays import Array
from trimtab.bases import Monomials
from trimtab.compiled import Structure
from trimtab.domain import BoundBox
from trimtab.lcb import LCB
from trimtab.solvers.landscape import Landscape, Work, new_landscape, new_work
from trimtab.solvers.newton import Model, new_model
from trimtab.solvers.trail import Trail, new_trail


@dataclass(frozen=True, kw_only=True, eq=False)
class Walk(Structure):
    """A search on its way. It has room for all knobs, so that no search allocates anything."""

    s: Array  # (k,) where it is
    current: Array  # (k,) where the system is
    price: Array  # (k,) what moving a knob by 1 costs
    land: Landscape
    work: Work
    trail: Trail
    model: Model


_WALKS: WeakKeyDictionary[LCB, Walk] = WeakKeyDictionary()


def walk_of(lcb: LCB, domain: BoundBox, features: Monomials) -> Walk:
    """The walk of this LCB; what an earlier search has left in it does not matter."""
    known = _WALKS.get(lcb)
    if known is None:
        k = lcb.problem.knobs
        land = new_landscape(lcb, domain, features)
        model = new_model(land)
        known = _WALKS[lcb] = Walk(
            s=np.empty(k),
            current=np.empty(k),
            price=np.empty(k),
            land=land,
            work=new_work(land),
            trail=new_trail(land, model),
            model=model,
        )
    return known
