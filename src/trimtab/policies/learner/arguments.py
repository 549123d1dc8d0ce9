"""What may be given to a learner together, and how many rounds a tell stands for."""

from __future__ import annotations

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints
from trimtab.errors import InvalidInput
from trimtab.learn import Confidence, Prior


def check_beliefs(
    radius: ArrayLike | Confidence | None,
    reg: ArrayLike | None,
    prior: Prior | None,
    *,
    proven: bool = False,
) -> Prior | None:
    """The prior that is learned under these arguments, None where nothing of V0 is.

    Where a radius can be `proven` around a prior's V0, a Confidence goes with a prior that is told
    spread and sigma.

    Raises:
        InvalidInput: they contradict each other.
    """
    if proven and prior is not None and reg is None and isinstance(radius, Confidence):
        if prior.spread is None or prior.sigma is None or radius.form != "logdet":
            raise InvalidInput(
                f"{prior} with a Confidence of form {radius.form!r} proves nothing: give the prior "
                "both spread and sigma, and the form 'logdet'; or leave the radius out"
            )
        return None
    if prior is not None and (radius is not None or reg is not None):
        raise InvalidInput(
            "prior with radius or reg; a prior replaces both, so give one or the other"
        )
    if radius is None and reg is not None:
        raise InvalidInput("reg without radius; give both, or neither for the recommended prior")
    return (Prior() if prior is None else prior) if radius is None else None


def rounds_of(losses: Array, count: Ints) -> int:
    """How many rounds have passed with these losses: the largest count of an observed loss.

    One has passed in which nothing was seen, but none of which all losses still come.
    """
    return int(count[~np.isnan(losses)].max(initial=min(int(count.max()), 1)))
