"""Every state that Algorithm 1 and Async choose, against a search that shares no code with them.

The regressions are recomputed by NumPy from the list of all data, the features by hand, and the
bound is searched by random states, vertices and grids along one knob after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

import trimtab as tt
from tests.builders import Reference, by_hand, example_1, quadratic, random_graph
from trimtab.arrays import Array, Ints

REG, BETA, ROUNDS = 0.3, 0.7, 40
BASES: list[tuple[Reference, tt.bases.Quadratic | tt.bases.PairwiseQuadratic]] = [
    (quadratic, tt.bases.Quadratic(normalize=False)),
    (example_1, tt.bases.PairwiseQuadratic(normalize=False)),
]


class Audit:
    """The bound of some criteria after all data so far, from scratch."""

    def __init__(
        self, reference: Reference, graph: tt.Graph, data: list[tuple[Array, Array]], criteria: Ints
    ) -> None:
        self.reference, self.graph, self.criteria = reference, graph, criteria.tolist()
        states, losses = (np.array(column) for column in zip(*data, strict=True))
        self.theta, self.inverse = [], []
        for i in self.criteria:
            phi = by_hand(reference, graph, i, states)
            V = REG * np.eye(len(phi)) + phi @ phi.T
            self.inverse.append(np.linalg.inv(V))
            self.theta.append(np.linalg.solve(V, phi @ losses[:, i]))

    def parts(self, states: Array) -> tuple[Array, Array]:
        """Means and widths at states (S, k), summed over the criteria."""
        mean, width = np.zeros(len(states)), np.zeros(len(states))
        for i, theta, inverse in zip(self.criteria, self.theta, self.inverse, strict=True):
            phi = by_hand(self.reference, self.graph, i, states)
            mean += theta @ phi
            width += BETA * np.sqrt(np.einsum("fs,fg,gs->s", phi, inverse, phi))
        return mean, width

    def bound(self, states: Array) -> Array:
        mean, width = self.parts(states)
        return mean - width

    def least(self, state: Array, free: Ints, rng: np.random.Generator) -> float:
        """The least bound over the free knobs, the others as they are in the state."""
        corners = np.array(list(product((0.0, 1.0), repeat=free.size)))
        tried = np.concatenate((corners, rng.random((1500, free.size)), state[None, free]))
        states = np.repeat(state[None], len(tried), axis=0)
        states[:, free] = tried
        best = np.argsort(self.bound(states))[:12]
        return min(self._descend(states[n], free) for n in best)

    def _descend(self, state: Array, free: Ints) -> float:
        """Along one knob after another, on a grid that becomes finer around its best point."""
        value = float(self.bound(state[None])[0])
        while True:
            before = value
            for j in free:
                low, high = 0.0, 1.0
                for _ in range(4):
                    states = np.repeat(state[None], 41, axis=0)
                    states[:, j] = np.linspace(low, high, 41)
                    values = self.bound(states)
                    n = int(np.argmin(values))
                    if values[n] < value:
                        value, state = float(values[n]), states[n]
                    gap = (high - low) / 40
                    low, high = max(state[j] - gap, 0.0), min(state[j] + gap, 1.0)
            if before - value <= 1e-7 * abs(value):
                return value


@dataclass(frozen=True)
class Choice:
    """A state that a policy chose."""

    free: int  # knobs
    excess: float  # of its bound over the least that the audit found, in widths


def choices(seed: int, *, widest: int, every: int, rounds: int = ROUNDS) -> Iterator[Choice]:
    """Every few rounds what the policy of a random problem chose, if it did."""
    rng = np.random.default_rng(seed)
    reference, basis = BASES[seed % 2]
    kind = (tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB)[seed // 2 % 2]
    k = int(rng.integers(3, 7))
    if seed % 2:
        edges = {(j, (j + 1) % k) for j in range(k)}
        graph = tt.Graph.from_edges(k, sorted({(min(e), max(e)) for e in edges}))
    else:
        graph = random_graph(rng, k, k, widest=widest)
    problem = tt.Problem(graph, basis=basis)
    policy = kind(problem, start=rng.random(k), radius=BETA, reg=REG, cold_start="keep")
    centre = rng.random(k)
    data: list[tuple[Array, Array]] = []
    for t in range(rounds):
        state = policy.ask()
        gap = np.array(
            [((state - centre)[graph.scope(i)] ** 2).sum() for i in range(graph.criteria)]
        )
        losses = gap + 0.1 * rng.normal(size=gap.size)
        data.append((state, losses))
        told = policy.tell(losses)
        if told.cause == "none" or t % every:
            continue
        local = kind is tt.AsyncLazyGraphLinUCB and told.cause == "trigger"
        free, criteria = graph.reach(told.triggered) if local else (np.arange(k), None)
        audit = Audit(reference, graph, data, np.arange(gap.size) if criteria is None else criteria)
        chosen = np.array(policy.ask())
        mean, width = audit.parts(chosen[None])
        least = audit.least(chosen, free, rng)
        yield Choice(free.size, float((mean[0] - width[0] - least) / width[0]))


@pytest.mark.parametrize("seed", range(40))
def test_no_choice_is_worse_than_an_independent_search(seed: int) -> None:
    found = list(choices(seed, widest=3, every=3))
    assert len(found) >= 2
    assert max(choice.excess for choice in found) <= 1e-3
