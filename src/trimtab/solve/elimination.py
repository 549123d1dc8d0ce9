r"""Exact minimisation of a sum of tables, by eliminating one variable after another.

A sum of factors, each a table over the candidates of a few variables, is minimised by
min-sum bucket elimination: the bucket of variable v adds up everything that still reads v,
a table over its *bag*, that is v and the neighbours N(v) it has left, and sends on the message

    min over v of (sum of the factors and messages that read v),   a table over N(v).

The work is the number of bag entries, exponential in the width of the order  and
linear in the number of variables.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab._core import Elimination
from trimtab.arrays import Ints
from trimtab.model.bases.features import offsets_of


def plan(scopes: Sequence[Ints], counts: Ints, most: int) -> Elimination | None:
    """How to eliminate the variables, or None if that takes more than `most` bag entries.

    Args:
        scopes: the variables that each factor reads, ascending.
        counts: the number of candidates of each variable, all at least 1.
        most: bag entries, over all buckets.
    """
    sizes = np.fromiter((scope.size for scope in scopes), np.int64, len(scopes))
    reads = np.concatenate([np.empty(0, np.int64), *scopes])
    found = Elimination(offsets_of(sizes), reads, np.ascontiguousarray(counts, np.int64), most)
    return None if found.refused else found
