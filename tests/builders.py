"""Random problems and posteriors that several test files share, and features by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from trimtab.arrays import Array, Ints
from trimtab.learn import NodewiseEstimators, as_radius
from trimtab.model.bases import Basis
from trimtab.model.domain import Domain
from trimtab.model.graph import Graph
from trimtab.model.problem import Problem
from trimtab.policies.lcb import LCB
from trimtab.solve import Bound

# Features from their definitions. `x` maps the knobs of the scope, ascending, to their values
# at any number of states; `centre` is one of these knobs.
Reference = Callable[[dict[int, Array], int], list[Array]]


def linear(x: dict[int, Array], centre: int) -> list[Array]:
    return list(x.values())


def affine(x: dict[int, Array], centre: int) -> list[Array]:
    return [x[centre] ** 0, *x.values()]


def polynomial(degree: int) -> Reference:
    def features(x: dict[int, Array], centre: int) -> list[Array]:
        return [x[centre] ** 0, *(s**p for s in x.values() for p in range(1, degree + 1))]

    return features


def example_1(x: dict[int, Array], centre: int) -> list[Array]:
    s_i = x[centre]
    neighbours = [s_j for j, s_j in x.items() if j != centre]
    return [s_i**0, s_i, s_i**2, *neighbours, *(s_i * s_j for s_j in neighbours)]


def quadratic(x: dict[int, Array], centre: int) -> list[Array]:
    s = list(x.values())
    return [x[centre] ** 0, *s, *(y**2 for y in s), *(y * z for y, z in combinations(s, 2))]


def by_hand(reference: Reference, graph: Graph, i: int, states: Array) -> Array:
    """The raw features of criterion i at the states (S, k): (d, S)."""
    scope = graph.scope(i).tolist()
    centre = scope[0] if graph.centres is None else int(graph.centres[i])
    return np.array(reference({j: states[:, j] for j in scope}, centre))


# The bound at many states, from the factors alone


def terms_at(lcb: Bound, features: Callable[[int], Array]) -> tuple[Array, Array]:
    """Weighted means and widths without radii, (m, S) each, from features (d, S) by hand."""
    means, widths = [], []
    for i, w in enumerate(lcb.problem.weights):
        R, v = lcb.factor(i)
        u = np.linalg.solve(R, features(i))
        means.append(w * (v @ u))
        widths.append(w * np.sqrt((u * u).sum(axis=0)))
    return np.array(means), np.array(widths)


def values_at(lcb: Bound, reference: Reference, states: Array) -> Array:
    """F at the states (S, k), with the features from their definition."""
    graph, top = lcb.problem.graph, lcb.problem.domain.high[None]

    def features(i: int) -> Array:
        longest = np.linalg.norm(by_hand(reference, graph, i, top))
        return by_hand(reference, graph, i, states) / longest

    means, widths = terms_at(lcb, features)
    return np.asarray(means.sum(axis=0) - lcb.radii @ widths)


def lattice(*axes: Array) -> Array:
    """Every combination of the axes' values: (S, k)."""
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def bound_at(lcb: Bound, states: Array) -> Array:
    """F at the states (S, k), for any basis: the features are the problem's own."""
    phi, offsets = np.array([lcb.problem.phi(s) for s in states]), lcb.problem.features.offsets
    means, widths = terms_at(lcb, lambda i: phi[:, offsets[i] : offsets[i + 1]].T)
    return np.asarray(means.sum(axis=0) - lcb.radii @ widths)


# Problems


def random_graph(rng: np.random.Generator, k: int, m: int, *, widest: int = 3) -> Graph:
    """Scopes of different sizes, each with one of its knobs as centre."""
    sizes = rng.integers(1, min(widest, k) + 1, size=m)
    scopes = [rng.permutation(k)[:n].tolist() for n in sizes]
    return Graph.from_scopes(scopes, knobs=k, centres=[scope[-1] for scope in scopes])


@st.composite
def graphs(draw: st.DrawFn, *, most_knobs: int = 6, most_criteria: int = 5) -> Graph:
    """The same by hypothesis: m is independent of k."""
    k, m = draw(st.integers(1, most_knobs)), draw(st.integers(1, most_criteria))
    scope = st.lists(st.integers(0, k - 1), unique=True, min_size=1, max_size=4)
    scopes = draw(st.lists(scope, min_size=m, max_size=m))
    return Graph.from_scopes(scopes, knobs=k, centres=[scope[-1] for scope in scopes])


# Posteriors


@dataclass(frozen=True)
class Datum:
    """One observation of every criterion: means of some rounds at a state."""

    state: Array  # (k,)
    losses: Array  # (m,) NaN where none was seen
    count: Ints  # (m,)


def noise(problem: Problem, rng: np.random.Generator, *, states: int) -> list[Datum]:
    """Losses without any pattern at random states, in batches, one in five missing."""
    data = []
    for _ in range(states):
        losses = rng.normal(size=problem.criteria)
        losses[rng.random(problem.criteria) < 0.2] = np.nan
        count = rng.integers(1, 30, size=problem.criteria)
        data.append(Datum(problem.domain.sample(rng), losses, count))
    return data


def played(problem: Problem, rng: np.random.Generator, *, states: int) -> list[Datum]:
    """What a policy sees: losses linear in the features, up to 10^6 rounds a state."""
    m, domain = problem.criteria, problem.domain
    theta = rng.normal(size=int(problem.features.offsets[-1])) * rng.choice([0.3, 1.0, 3.0])
    data = []
    for _ in range(states):
        state = domain.sample(rng)
        if rng.random() < 0.5:
            state = np.where(rng.random(state.size) < 0.5, domain.low, domain.high)
        n = int(10 ** rng.uniform(0, 6))
        means = np.add.reduceat(theta * problem.phi(state), problem.features.offsets[:-1])
        losses = means + 0.3 / np.sqrt(n) * rng.normal(size=m)
        data.append(Datum(state, losses, np.full(m, n)))
    return data


def posterior(problem: Problem, data: list[Datum], *, reg: Array, radii: Array) -> LCB:
    """The LCB after these observations."""
    start = problem.domain.low.copy()
    estimators = NodewiseEstimators(problem, reg=reg, factor=2.0, state=start)
    for datum in data:
        estimators.add_elsewhere(datum.losses, datum.count, datum.state)
    return LCB(estimators, as_radius(radii, problem.criteria))


def random_posterior(
    rng: np.random.Generator,
    graph: Graph,
    basis: Basis,
    *,
    domain: Domain | None = None,
    data: Callable[..., list[Datum]] = noise,
    states: int = 6,
    radii: tuple[float, float] = (0.1, 2.0),
) -> LCB:
    """An LCB whose weights, regs and radii all differ from 1 and from each other."""
    m = graph.criteria
    problem = Problem(graph, basis=basis, domain=domain, weights=rng.uniform(0.3, 3.0, size=m))
    reg = rng.choice([0.01, 0.3, 2.0, 7.0], size=m)
    beta = rng.uniform(*radii, size=m)
    return posterior(problem, data(problem, rng, states=states), reg=reg, radii=beta)
