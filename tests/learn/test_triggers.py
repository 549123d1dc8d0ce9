"""Algorithm 1 triggers exactly when its determinants say so, recomputed from scratch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import trimtab as tt
from trimtab._core import rounds_to_trigger
from trimtab.arrays import Array, Ints
from trimtab.learn.statistics import NEVER
from trimtab.model.bases import Basis
from trimtab.policies import Policy

BASES: dict[str, Callable[[], Basis]] = {
    "linear": lambda: tt.bases.Linear(intercept=True),
    "polynomial": lambda: tt.bases.Polynomial(3, normalize=False),
    "pairwise": tt.bases.PairwiseQuadratic,
    "quadratic": lambda: tt.bases.Quadratic(normalize=False),
    "fourier": lambda: tt.bases.FourierFeatures(6, lengthscale=0.4, seed=3),
}


class FromScratch:
    """Algorithm 1's trigger by plain numpy: every V rebuilt from the states played."""

    def __init__(self, problem: tt.Problem, reg: Array, factor: float) -> None:
        self.problem, self.reg, self.factor = problem, reg, factor
        m = problem.criteria
        self.data: list[list[tuple[Array, int]]] = [[] for _ in range(m)]
        self.used = [0] * m  # how much of the data came before tau_i

    def see(self, state: Array, losses: Array, count: Ints) -> None:
        phi = np.split(self.problem.phi(state), self.problem.features.offsets[1:-1])
        for i in np.flatnonzero(~np.isnan(losses)):
            self.data[i].append((phi[i], int(count[i])))

    def log_ratios(self) -> Array:
        return np.array([self._logdet(i, None) - self._logdet(i, self.used[i]) for i in self.all])

    def reset(self) -> None:
        self.used = [len(rows) for rows in self.data]

    @property
    def all(self) -> range:
        return range(self.problem.criteria)

    def _logdet(self, i: int, upto: int | None) -> float:
        V = self.reg[i] * np.eye(int(self.problem.dims[i]))
        for phi, n in self.data[i][:upto]:
            V += n * np.outer(phi, phi)
        return float(np.linalg.slogdet(V)[1])


def random_graph(rng: np.random.Generator) -> tt.Graph:
    k = int(rng.integers(2, 7))
    pairs = [(i, j) for i in range(k) for j in range(i) if rng.random() < 0.4]
    return tt.Graph.from_edges(k, pairs)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "basis",
    [pytest.param(each, marks=[pytest.mark.slow] * (each == "fourier")) for each in BASES],
)
@pytest.mark.parametrize("feedback", ["full", "missing", "batched", "elsewhere"])
def test_triggers_equal_recomputation(basis: str, feedback: str, seed: int) -> None:
    rng = np.random.default_rng((seed, len(basis), len(feedback)))
    problem = tt.Problem(random_graph(rng), basis=BASES[basis]())
    m, k = problem.criteria, problem.knobs
    reg = rng.uniform(0.05, 5.0, m) if seed % 2 else np.full(m, rng.uniform(0.05, 5.0))
    factor = float(rng.choice([1.5, 2.0, 4.0]))
    policy = tt.LazyGraphLinUCB(
        problem,
        start=rng.random(k),
        radius=0.5,
        reg=reg if seed % 2 else float(reg[0]),
        factor=factor,
        cold_start="keep",
        review=False,
    )
    direct = FromScratch(problem, reg, factor)
    theta = rng.normal(size=int(problem.features.offsets[-1]))
    triggers = 0
    for _ in range(60 if basis != "fourier" else 20):
        state = policy.ask()
        count = rng.integers(1, 6, m) if feedback == "batched" else np.ones(m, np.int64)
        away = feedback == "elsewhere" and rng.random() < 0.3
        played = rng.random(k) if away else state
        losses = np.add.reduceat(problem.phi(played) * theta, problem.features.offsets[:-1])
        losses += rng.normal(scale=0.2, size=m)
        if feedback in ("missing", "elsewhere"):
            losses[rng.random(m) < 0.4] = np.nan
        told = policy.tell(losses, played=played if away else None, count=count)
        direct.see(played, losses, count)

        ratios = direct.log_ratios()
        clear = np.abs(ratios - np.log(factor)) > 1e-9
        rang = np.isin(np.arange(m), told.triggered)
        np.testing.assert_array_equal(rang[clear], (ratios > np.log(factor))[clear])
        if told.triggered.size:
            assert told.cause == "trigger"
            assert told.moved == pytest.approx(np.abs(policy.ask() - state).sum(), abs=1e-15)
            direct.reset()
            triggers += 1
        else:
            assert told.cause == "none"
            assert told.moved == 0.0
            assert policy.ask() is state  # between triggers the state never changes
    assert triggers >= 2


def test_next_review_is_when_it_comes() -> None:
    world = tt.worlds.quadratic(tt.Graph.cliques([3, 2]), seed=2)
    policy = tt.LazyGraphLinUCB(world.problem, start=np.full(5, 0.4), radius=0.5, review=False)
    rng = np.random.default_rng(0)
    told = policy.tell(world.draw(policy.ask(), rng))
    reviews = 0
    while policy.rounds < 4000:
        announced = told.next_review
        for _ in range(announced - 1):
            told = policy.tell(world.draw(policy.ask(), rng))
            assert told.cause == "none"
        told = policy.tell(world.draw(policy.ask(), rng))
        assert told.cause == "trigger"
        reviews += 1
    assert reviews >= 20


def integer_rounds(policy: Policy, loss: float, rounds: int) -> list[int]:
    return [t for t in range(1, rounds + 1) if policy.tell([loss]).triggered.size]


@pytest.mark.parametrize("reg", [1, 2, 3, 7, 10, 49, 100, 333])
def test_ties_of_integer_reg_are_exact(reg: int) -> None:
    """With unit features V is a whole number, and V = 2 V_tau must not trigger."""
    basis = tt.bases.Custom(function=lambda i, x: [1.0], bound=1.0, jacobian=lambda i, x: [[0.0]])
    problem = tt.Problem(tt.Graph.complete(1), basis=basis)
    policy = tt.LazyGraphLinUCB(
        problem, start=[0.3], radius=0.5, reg=reg, cold_start="keep", review=False
    )
    expected, V, V_tau = [], reg, reg
    for t in range(1, 3001):
        V += 1
        if 2 * V_tau < V:
            expected.append(t)
            V_tau = V
    assert expected
    assert integer_rounds(policy, 0.1, 3000) == expected


def test_closed_form_at_ties() -> None:
    """n w = C - 1 exactly: the next round triggers, this one does not."""
    for n in [1, 2, 3, 10, 1000, 10**6, 10**9]:
        for factor in (1.5, 2.0, 3.0):
            spread = (factor - 1.0) / n
            assert rounds_to_trigger(spread, 0.0, factor) == n + 1
            assert rounds_to_trigger(spread * (1 + 1e-9), 0.0, factor) == n
    assert rounds_to_trigger(0.0, 0.0, 2.0) == NEVER
    assert rounds_to_trigger(1e-300, 0.0, 2.0) == NEVER
    assert rounds_to_trigger(0.5, np.log(2.0), 2.0) == 1  # exactly at the factor: one more
    assert rounds_to_trigger(0.5, 1.0, 2.0) == 0


def test_fifty_dimensions_do_not_overflow() -> None:
    """det V = (10^7)^50 is infinite in floating point; the log ratios are not."""
    k = 50
    graph = tt.Graph.from_scopes([list(range(k))], knobs=k)
    problem = tt.Problem(graph, basis=tt.bases.Linear(normalize=False))
    policy = tt.LazyGraphLinUCB(
        problem, start=np.full(k, 0.5), radius=0.5, cold_start="keep", review=False
    )
    for j in range(k):
        told = policy.tell([0.1], played=np.eye(k)[j], count=10**7)
        assert told.triggered.size == 1
    phi, V = np.full(k, 0.5), np.eye(k) * (1 + 1e7)
    policy.place(phi)
    with np.errstate(over="ignore"):
        assert np.isinf(np.prod(np.diag(V)))  # inf > 2 * inf would never be true
    told = policy.tell([0.1])
    before = np.linalg.slogdet(V + told.next_review * np.outer(phi, phi))[1]
    after = np.linalg.slogdet(V + (told.next_review + 1) * np.outer(phi, phi))[1]
    start = np.linalg.slogdet(V)[1]
    assert before - start <= np.log(2.0) + 1e-9 <= after - start + 2e-9
    assert policy.tell([0.1], count=told.next_review - 1).cause == "none"
    assert policy.tell([0.1]).cause == "trigger"
