"""One independent piece of a solve: the free knobs that hang together, and who reads them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.model.bases.features import offsets_of, spans
from trimtab.solve.bound import Bound


@dataclass(frozen=True)
class Part:
    """What is minimised: G(s) = F(s) + sum_j price_j |s_j - now_j|, over the free knobs only.

    F is the sum over `criteria`, all those that read a free knob; the other knobs
    stay where they are now.
    """

    bound: Bound
    now: Array  # (k,) the present state
    knobs: Ints  # the free ones, ascending
    criteria: Ints  # ascending
    price: Array  # (k,) what moving a knob by 1 costs

    def value(self, state: Array) -> float:
        """G(s)."""
        return self.bound.value(state, self.criteria) + self.toll(state[self.knobs])

    def toll(self, values: Array) -> float:
        """What it costs to move the free knobs to these values: (n,)."""
        return float(self.price[self.knobs] @ np.abs(values - self.now[self.knobs]))

    @cached_property
    def scopes(self) -> list[Ints]:
        """Positions in `knobs` that each term of G reads: the criteria, then the priced knobs."""
        graph, knobs = self.bound.problem.graph, self.knobs
        starts = graph.scope_offsets[self.criteria]
        lengths = graph.scope_offsets[self.criteria + 1] - starts
        rows = np.repeat(np.arange(starts.size), lengths)
        reads = graph.scope_knobs[spans(starts, lengths)]
        places = np.searchsorted(knobs, reads)
        free = knobs[np.minimum(places, knobs.size - 1)] == reads
        cuts = offsets_of(np.bincount(rows[free], minlength=starts.size)).tolist()
        places = places[free]
        priced = np.flatnonzero(self.price[knobs] > 0.0)
        return [*(places[a:b] for a, b in pairwise(cuts)), *priced[:, None]]

    def put(self, values: Array) -> Array:
        """The present state with the free knobs at these values."""
        state = self.now.copy()
        state[self.knobs] = values
        return state
