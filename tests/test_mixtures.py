"""Mixtures of states: as good as trying every combination, whichever way they are found."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.builders import random_posterior
from trimtab.arrays import Array
from trimtab.bases import PairwiseQuadratic
from trimtab.domain import BoundBox, Box
from trimtab.graph import Graph
from trimtab.solvers import discrete
from trimtab.solvers.part import Part

RING = Graph.from_edges(5, [(j, (j + 1) % 5) for j in range(5)])


def part_of(seed: int, *, price: float = 0.0, domain: Box | None = None) -> tuple[Part, BoundBox]:
    rng = np.random.default_rng(seed)
    lcb = random_posterior(rng, RING, PairwiseQuadratic(), domain=domain)
    bound = lcb.problem.domain
    assert isinstance(bound, BoundBox)
    part = Part(lcb, bound.sample(rng), np.arange(5), np.arange(5), np.full(5, price))
    return part, bound


def best_by_trying(part: Part, domain: BoundBox, states: Array) -> float:
    axes = [np.unique([*states[:, j], domain.low[j], domain.high[j]]) for j in range(5)]
    return min(part.value(np.array(values)) for values in product(*axes))


@pytest.mark.parametrize("way", ["elimination", "flips"])
@pytest.mark.parametrize("price", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_all_combinations_is_found(
    seed: int, price: float, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, domain = part_of(seed, price=price)
    states = np.stack([domain.sample(np.random.default_rng((seed, c))) for c in range(2)])
    if way == "flips":
        monkeypatch.setattr(discrete, "_eliminate", lambda *_, **__: None)
    found = discrete.mixture(part, domain, states, 100_000, seed=0)
    assert found is not None
    assert found.value == pytest.approx(part.value(found.values))
    assert found.value == pytest.approx(best_by_trying(part, domain, states), rel=1e-9)
    assert found.value < min(part.value(state) for state in states)


def test_values_on_levels_stay_on_levels() -> None:
    levels = {1: [0.0, 0.3, 1.0], 4: [0.2, 0.7]}
    part, domain = part_of(3, domain=Box(levels=levels))
    rng = np.random.default_rng(0)
    found = discrete.mixture(part, domain, np.stack([domain.sample(rng)] * 2), 1000, seed=0)
    assert found is not None
    domain.check(found.values)


def test_too_large_tables_leave_out_the_last_candidates_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part, domain = part_of(1)
    states = np.stack([np.full(5, x) for x in (0.4, 0.6)])
    # Five tables over three knobs: room for two candidates of each, not for three.
    monkeypatch.setattr(discrete, "MIX_ENTRIES", 5 * 2**3)
    monkeypatch.setattr(discrete, "MIX_ENTRIES_PER_KNOB", 0)
    found = discrete.mixture(part, domain, states, 1000, seed=0)
    assert found is not None
    assert set(found.values.tolist()) <= {0.4, 0.6}


def test_a_state_alone_at_the_ends_has_only_their_mixtures() -> None:
    part, domain = part_of(2)
    found = discrete.mixture(part, domain, np.zeros((1, 5)), 10_000, seed=0)
    assert found is not None
    assert set(found.values.tolist()) <= {0.0, 1.0, *part.now.tolist()}
    pinned, box = part_of(2, domain=Box(low=0.5, high=0.5))
    assert discrete.mixture(pinned, box, np.full((1, 5), 0.5), 100, seed=0) is None
