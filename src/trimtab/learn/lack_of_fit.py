r"""Lack of fit: whether the losses of a criterion differ by more than basis and noise explain.

With J data (stretches at one state, or losses of another) of means y_j over n_j rounds let

    Q = min_theta sum_j n_j (y_j - phi_j' theta)^2 + reg |theta|^2.

If the true parameter has at most the length `norm`, putting it in gives
Q <= sigma^2 X_J + reg norm^2, where X_J is chi-square with J degrees of freedom; no
degrees are taken off for the fit, since under adaptive play there is no saying how many.
The noise is known from pure error, SS with nu degrees, which is independent of X_J.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trimtab.arrays import Array, ArrayLike, Bools, Ints, number, per_item
from trimtab.errors import InvalidInput
from trimtab.learn.nodewise import NodewiseEstimators
from trimtab.learn.noise import sigma_bound


@dataclass(frozen=True, kw_only=True, eq=False)
class LackOfFit:
    """What `lack_of_fit` has found, one entry per criterion."""

    statistic: Array  # (m,) between-state variance over noise variance; 1 or less is a good fit
    critical: Array  # (m,) the most that chance explains; infinite where too little is known
    data: Ints  # (m,) J, degrees of freedom of the numerator
    df: Ints  # (m,) nu, degrees of freedom of the noise
    p_value: Array  # (m,) of this look and this criterion alone, by F(J, nu)
    rejected: Bools  # (m,) statistic > critical

    @property
    def messages(self) -> list[str]:
        """One line for each criterion that is rejected."""
        return [
            f"this basis or this scope is wrong for objective {i}: its states differ "
            f"{self.statistic[i]:.3g} times as much as noise would make them, and chance "
            f"explains {self.critical[i]:.3g}"
            for i in np.flatnonzero(self.rejected).tolist()
        ]


def lack_of_fit(
    estimators: NodewiseEstimators,
    *,
    norm: ArrayLike,
    alpha: float = 0.05,
    looks: Literal["all", "one"] = "all",
) -> LackOfFit:
    r"""Which criteria the basis or the scope is wrong for, as of their last flush.

    Criterion i, of m, is rejected when

    .. math::
        \frac{(Q - \mathrm{reg}\, \mathrm{norm}^2) / J}{SS / \nu} >
        \frac{\chi^2_{1-a}(J)}{J} \cdot \frac{\nu}{\chi^2_b(\nu)}, \qquad
        a = \frac{\alpha}{2 m J (J + 1)}, \quad b = \frac{\alpha}{2 m} \frac{20}{\nu (\nu + 1)}

    where the last factor is that of `noise.sigma_bound`. Both levels sum to alpha / (2 m) over
    all J and all nu: if basis, scope and norm are right, any criterion is ever rejected, at
    any look, with probability `alpha` at most, however the states were chosen. It needs
    independent Gaussian noise, as `noise` says, and losses that do not drift.

    With ``looks="one"`` the right side is the quantile of the F test, F_{1 - alpha/m}(J, nu):
    two to four times smaller. Its level is proven for one look where J and nu do not depend
    on the noise, after a design made beforehand. In a policy's own play they do depend on it;
    there the level was measured to be far below alpha, but it is not proven.

    >>> import numpy as np, trimtab as tt
    >>> from trimtab.learn import lack_of_fit
    >>> problem = tt.Problem(tt.Graph.complete(1), basis=tt.bases.Linear(intercept=True))
    >>> policy = tt.LazyGraphLinUCB(problem, start=[0.0], radius=1.0)
    >>> rng = np.random.default_rng(1)
    >>> for s in (0.0, 0.5, 1.0, 0.5):  # the truth is quadratic
    ...     policy.place([s])
    ...     for y in (s - 0.5) ** 2 + 0.01 * rng.normal(size=20):
    ...         cut = policy.learner.observe([y], played=None, count=1)
    >>> policy.place([1.0])
    >>> found = lack_of_fit(policy.learner.estimators, norm=1.0)
    >>> found.rejected.tolist(), found.data.tolist(), found.df.tolist()
    ([True], [4], [76])
    >>> print(found.messages[0][:50])
    this basis or this scope is wrong for objective 0:

    Args:
        estimators: those of a policy are `policy.learner.estimators`.
        norm: a bound on the length of each criterion's true parameter. Too small a norm
            is rejected like a wrong basis.
        alpha: the probability of a false alarm, over all criteria and all looks.
        looks: "all" if it is looked at more than once or the states were chosen by what was
            seen, or "one".
    """
    from scipy.special import chdtri, fdtrc, fdtri

    if looks not in ("all", "one"):
        raise InvalidInput(f"looks = {looks!r}; choose 'all' or 'one'")
    stats, m = estimators.stats, estimators.problem.criteria
    S = per_item(norm, m, "norm", "criterion", low=0.0, strict=False)
    share = number(alpha, "alpha", low=0.0, strict=True, high=1.0) / (2.0 * m)
    J, nu = (np.maximum(count, 1).astype(np.float64) for count in (stats.data, stats.pure_df))
    Q = np.array([estimators.residual(i) for i in range(m)])
    excess = np.maximum(Q - estimators.reg * S**2, 0.0)
    noise = np.maximum(stats.pure_error / nu, np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):  # without any noise the least misfit is infinitely unlikely
        statistic = excess / J / noise
    if looks == "all":
        up = sigma_bound(nu, stats.pure_df, share)  # of a noise variance SS / nu = 1
        critical = chdtri(J, share / (J * (J + 1.0))) / J * up**2
    else:
        critical = np.where(stats.pure_df > 0, fdtri(J, nu, 1.0 - 2.0 * share), np.inf)
    return LackOfFit(
        statistic=statistic,
        critical=critical,
        data=stats.data.copy(),
        df=stats.pure_df.copy(),
        p_value=np.where(stats.pure_df > 0, fdtrc(J, nu, statistic), 1.0),
        rejected=statistic > critical,
    )
