r"""Data that lose weight with age: the same regressions, with a memory of H rounds.

With g = 1 - 1/H a loss of t - s rounds ago weighs g^(t - s). Matrices change only at a flush;
after n rounds at features phi, n_i of them observed, with mean loss y,

    V' = g^n V + (1 - g^n) reg I + n_i share phi phi',    share = (1 - g^n) / (n (1 - g)),

and b' = g^n b + n_i share y phi: all rounds between two flushes get the mean of their weights,
which is exact where the world stays between the two. Rounds are those of the clock: a criterion
that was not observed ages all the same. Losses of another state enter with their full
weight and age from the flush before them.

**The accrual trigger.** Between two looks nothing fades: n is due when n w > C - 1, where
w = phi' V^{-1} phi with V as of the last flush. That is the trigger there always was. Since
share >= g^n it follows that V' >= g^n (V + n_i phi phi'), hence

    log det V' - log det V >= log(1 + n_i w) - d n log(1/g),

while log det V stays bounded: `theory.max_accruals` counts the looks.

**The radius.** Let V~ be V with all weights squared (reg as it is), eta the noise and S the
weighted sum of phi eta. In a world that stays theta^ - theta = V^{-1} (S - reg theta), and as
no weight is above 1, V~ <= V; so at any state

    |phi' (theta^ - theta)| <= |phi|_{V^-1} (|S|_{V~^-1} + sqrt(reg) norm),

where log det V~ <= log det V: the usual width and log det V serve, without a second matrix.
What weights do cost is the bound on S: see `anew`.

Deviation: the paper proposes discounted matrices for worlds that drift, with its
own trigger. Their determinants stop growing, and with them the looks: the state freezes for ever.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array


def decay(memory: int) -> float:
    """log(1/g): how much of the logarithm of its weight a datum loses in a round."""
    return -float(np.log1p(-1.0 / memory))


def anew(faded: Array | float) -> Array:
    r"""What the square of a radius needs beside Gamma + 2 log(m/delta) when data fade.

    At one time fixed beforehand it would be nothing. At all times it cannot be nothing: a
    constant phi makes V converge while S, fed by ever new noise, in the end exceeds any bound.
    So delta is shared: 1/(k (k + 1)) of it for the k-th stretch of 1/(d log(1/g)) rounds,
    whose weights, as of its end, are fixed. Seen from inside the stretch these are too small
    by at most g^(1/(d log(1/g))) = e^(-1/d), which raises log det V~ by at most 2:

        2 + 2 log(k (k + 1)),    k = 1 + floor(d t log(1/g)).

    Like the estimate of the noise it needs epochs whose end was fixed before they began.

    >>> anew(np.array([0.0, 0.5, 60.5])).round(2)
    array([ 0.  ,  3.39, 18.48])

    Args:
        faded: d t log(1/g) at the clock t, 0 where nothing fades.
    """
    k = 1.0 + np.floor(faded)
    return np.where(np.asarray(faded) > 0.0, 2.0 + 2.0 * np.log(k * (k + 1.0)), 0.0)
