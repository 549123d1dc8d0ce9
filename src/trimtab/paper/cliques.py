"""The worlds of the paper's two synthetic experiments: pairs of knobs, one linear loss each."""

from __future__ import annotations

from typing import Literal

import numpy as np

from trimtab.arrays import Array
from trimtab.model.bases import Linear
from trimtab.model.domain import Balls, Box
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.policies import LazyPolicy, Told

DIMENSION = 2  # knobs of a clique
Domain = Literal["circle", "square"]
Law = Literal["sphere", "cube", "normal", "fixed"]
DOMAIN_NAMES: dict[Domain, str] = {
    "square": "[0, 1]^2, the paper's state space",
    "circle": "the unit disc; minimisers are on the unit circle",
}
LAW_NAMES: dict[Law, str] = {
    "sphere": "uniform on the unit sphere",
    "cube": "uniform in [-1, 1]^2",
    "normal": "standard normal",
    "fixed": "(0.5, -0.5) in every run",
}


def problem_of(domain: Domain, cliques: int) -> Problem:
    """Pairs of knobs, each read by a linear criterion of its own, with raw features."""
    pairs = [[DIMENSION * c, DIMENSION * c + 1] for c in range(cliques)]
    return Problem(
        Graph.from_scopes(pairs, knobs=DIMENSION * cliques),
        basis=Linear(normalize=False),
        domain=Balls(pairs) if domain == "circle" else Box(),
    )


def draw_theta(law: Law, cliques: int, rng: np.random.Generator) -> list[Array]:
    """The true parameter of each clique."""
    shape = (cliques, DIMENSION)
    if law == "fixed":
        return list(np.tile([0.5, -0.5], (cliques, 1)))
    if law == "cube":
        return list(rng.uniform(-1.0, 1.0, shape))
    raw = rng.normal(size=shape)
    return list(raw if law == "normal" else raw / np.linalg.norm(raw, axis=1, keepdims=True))


class RingingClocksOnly(LazyPolicy):
    """Algorithm 1 with line 10 changed: a global solve resets only the clocks that rang.

    The paper's counts of global updates suggest that its program may have done this; it is here
    to be counted.
    """

    def _check(self) -> Told:
        triggered = self.learner.estimators.triggered()
        if self._review_due():
            return self._told(triggered, self._solve_globally())
        if triggered.size:
            return self._told(triggered, self.learner.resolve(reset=triggered))
        return self._told(triggered, None)
