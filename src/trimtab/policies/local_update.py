"""The local update of Section 5.1 in one call of the core.

`Learner.resolve` says the same in a few readable lines, and is what runs for other bases, domains
and radii, and what the tests compare this with.
"""

from __future__ import annotations

import numpy as np

from trimtab._core import LocalUpdate
from trimtab.learn.confidence import BoundConfidence, FixedRadius
from trimtab.model.domain import BoundBox
from trimtab.policies.lcb import LCB


def new_local(lcb: LCB, *, effort: float) -> LocalUpdate | None:
    """What updates of this LCB need, or None where they are made step by step."""
    radius, domain = lcb.radius, lcb.problem.domain
    if lcb.core is None or not isinstance(domain, BoundBox) or domain.leveled.size:
        return None
    sigma = norm = np.empty(0)
    extra = 0.0
    if isinstance(radius, BoundConfidence):
        if radius.sigma is None or radius.form != "logdet":
            return None
        sigma, norm = radius.sigma, radius.norm
        extra = 2.0 * float(np.log(lcb.problem.criteria / radius.delta))
    elif not isinstance(radius, FixedRadius):
        return None
    return LocalUpdate(
        regression=lcb.estimators.stats.core,
        objective=lcb.core,
        radii=lcb.radii,
        sigma=sigma,
        norm=norm,
        extra=extra,
        effort=effort,
    )
