"""What the paper prints of its third experiment."""

from __future__ import annotations

from trimtab.paper.experiment import Published

PUBLISHED = (
    Published(
        name="movement_standard",
        quantity="movement of standard LinUCB",
        where="Section 7.3",
        value=14.0,
        printed="14.0",
        rounding=0.05,
        runs=10,
        group="movement",
    ),
    Published(
        name="movement_lazy",
        quantity="movement of Algorithm 1",
        where="Section 7.3",
        value=2.5,
        printed="2.5",
        rounding=0.05,
        runs=10,
        group="movement",
    ),
    Published(
        name="ratio",
        quantity="ratio of the two",
        where="Section 7.3",
        value=5.7,
        printed="5.7",
        rounding=0.05,
        runs=10,
    ),
    Published(
        name="end_standard",
        quantity="threshold at which standard LinUCB ends",
        where="Section 7.3",
        value=0.9,
        printed="about 0.9",
        rounding=0.05,
        runs=10,
        claim=True,
    ),
    Published(
        name="end_lazy",
        quantity="threshold at which Algorithm 1 ends",
        where="Section 7.3",
        value=0.9,
        printed="about 0.9",
        rounding=0.05,
        runs=10,
        claim=True,
    ),
)
