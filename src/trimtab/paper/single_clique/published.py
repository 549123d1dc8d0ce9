"""What the paper prints of its first experiment."""

from __future__ import annotations

from trimtab.paper.experiment import Published

PUBLISHED = (
    Published(
        name="movement_standard",
        quantity="l1 movement of standard LinUCB",
        where="Figure 3, right",
        value=22.0,
        printed="about 22",
        rounding=0.5,
        runs=100,
        group="movement",
    ),
    Published(
        name="movement_lazy",
        quantity="l1 movement of Algorithm 1",
        where="Figure 3, right",
        value=8.0,
        printed="about 8",
        rounding=0.5,
        runs=100,
        group="movement",
    ),
    Published(
        name="regret_difference",
        quantity="regret of Algorithm 1 minus that of standard LinUCB",
        where="Section 7.1",
        value=0.0,
        printed="indistinguishable",
        rounding=0.0,
        runs=100,
        claim=True,
    ),
    Published(
        name="growth_standard",
        quantity="exponent of T in the movement of standard LinUCB",
        where="Section 7.1",
        value=1.0,
        printed="linear",
        rounding=0.05,
        runs=100,
        claim=True,
    ),
)
