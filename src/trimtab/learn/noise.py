r"""How large the noise may be, from the losses that one state has given again and again.

While a state stays, its losses differ by nothing but noise. With SS the sum of their
squared deviations from the mean of their stretch, and nu degrees of freedom (one less than
observations in every stretch), SS / sigma^2 is chi-square with nu degrees, whatever the
basis: it is *pure error*. Hence, with the lower quantile chi2_a(nu),

    sigma_up^2 = SS / chi2_a(nu),    a = alpha * 20 / (nu (nu + 1)),    nu >= 20,

is below sigma^2 with probability a at one nu, and at any nu at all with probability alpha,
since the a sum to alpha. What nu is at a given time depends on the noise of earlier
stretches, so that nothing less would do. It costs little: sigma_up is about 2.0 sigma at
nu = 20, 1.4 at 100, 1.13 at 1,000 and 1.005 at 10^6 (alpha = 0.005).

It is exact for independent Gaussian noise of one sigma per criterion, and stretches whose
end was fixed before they began: lazy policies do that. Means of n rounds count n times
their squared deviation, and one degree each. `AsyncLazyGraphLinUCB` ends a criterion's
stretch by what other criteria have shown, so their noise must be independent there.
"""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, Ints

LEAST_DF = 20  # degrees of freedom below which the noise counts as unknown


def sigma_bound(pure_error: Array, pure_df: Ints, alpha: float) -> Array:
    """sigma_up of each criterion, infinite below 20 degrees of freedom.

    Each is below the true sigma, ever, with probability `alpha` at most.

    >>> sigma_bound(np.array([0.2, 0.3, 10.0]), np.array([19, 20, 1000]), 0.005).round(3)
    array([  inf, 0.247, 0.113])
    """
    from scipy.special import gammaincinv

    nu = np.maximum(pure_df, LEAST_DF).astype(np.float64)
    quantile = 2.0 * gammaincinv(nu / 2.0, alpha * LEAST_DF / (nu * (nu + 1.0)))
    return np.where(pure_df >= LEAST_DF, np.sqrt(pure_error / quantile), np.inf)
