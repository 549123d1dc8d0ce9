"""What every gradient policy promises, whatever its schedule.

A policy joins by one line in POLICIES; the promises are those of `test_conformance.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab as tt
from tests.policies.test_conformance import same
from trimtab.arrays import Array
from trimtab.model.domain import BoundConvexDomain, ConvexDomain
from trimtab.policies import GradientPolicy

T = 60
Make = Callable[[BoundConvexDomain, Array, int], GradientPolicy]


def lazy(**options: Any) -> Make:
    defaults = {"horizon": T, "lipschitz": 2.0, "budget": 10}
    return lambda domain, start, seed: tt.LazyOGD(
        domain, start=start, seed=seed, **(defaults | options)
    )


def several(domain: BoundConvexDomain) -> list[int]:
    """A budget for each component."""
    return [10, T, 5, 20][: int(domain.components.max()) + 1]


POLICIES: dict[str, Make] = {
    "LazyOGD": lazy(),
    "LazyOGD, coin": lazy(mode="random"),
    "LazyOGD, virtual gradients": lazy(gradient_at="virtual", budget=7),
    "LazyOGD, every round": lazy(budget=T),
    "LazyOGD to the letter": lazy(mode="random", step="paper"),
    "LazyOGD, several budgets": lambda domain, start, seed: tt.LazyOGD(
        domain, start=start, horizon=T, lipschitz=2.0, budget=several(domain), seed=seed
    ),
    "LazyOGD, several coins": lambda domain, start, seed: tt.LazyOGD(
        domain,
        start=start,
        horizon=T,
        lipschitz=2.0,
        budget=several(domain),
        mode="random",
        seed=seed,
    ),
    "FollowThePerturbedLeader": lambda domain, start, seed: tt.FollowThePerturbedLeader(
        domain, start=start, horizon=T, lipschitz=2.0, seed=seed
    ),
    "FollowThePerturbedLeader, fresh": lambda domain, start, seed: tt.FollowThePerturbedLeader(
        domain, start=start, horizon=T, lipschitz=2.0, perturbation="fresh", scale=3.0, seed=seed
    ),
    "ROBD": lambda domain, start, seed: tt.ROBD(
        domain, start=start, curvature=1.5, lipschitz=2.0, horizon=T
    ),
    "LCP": lambda domain, start, seed: tt.LCP(
        domain, start=start, curvature=1.5, move_cost=0.3, lipschitz=2.0, horizon=T
    ),
}
FROM_HERE = ("ROBD", "LCP")
DOMAINS: dict[str, ConvexDomain] = {
    "box": tt.Box(low=[0.0, 0.2, 0.0, 0.1]),
    "balls": tt.Balls([[0, 2], [1], [3]]),
    "simplex": tt.Simplex(),
}
policies = pytest.mark.parametrize("name", POLICIES)
domains = pytest.mark.parametrize(
    "domain", [domain.bind(4) for domain in DOMAINS.values()], ids=DOMAINS
)


def start_of(domain: BoundConvexDomain) -> Array:
    return domain.sample(np.random.default_rng(0))


def drive(policy: GradientPolicy, rounds: int, seed: int) -> list[tuple[Array, Array, float, str]]:
    """Tell random gradients and place random states; the path it took."""
    rng = np.random.default_rng(seed)
    path: list[tuple[Array, Array, float, str]] = []
    for _ in range(min(rounds, policy.horizon - policy.rounds)):
        if rng.random() < 0.1:
            policy.place(policy.domain.sample(rng))
        g = rng.normal(size=4)
        told = policy.tell(2.0 * g / np.linalg.norm(g))
        path.append((policy.ask().copy(), policy.gradient_point.copy(), told.moved, told.cause))
    return path


def assert_same_path(one: GradientPolicy, two: GradientPolicy, rounds: int, seed: int) -> None:
    for left, right in zip(drive(one, rounds, seed), drive(two, rounds, seed), strict=True):
        np.testing.assert_array_equal(left[0], right[0])
        np.testing.assert_array_equal(left[1], right[1])
        assert left[2:] == right[2:]
    assert same(one.snapshot(), two.snapshot())


@policies
@domains
def test_ask_only_reads_and_stays_inside(name: str, domain: BoundConvexDomain) -> None:
    policy = POLICIES[name](domain, start_of(domain), 0)
    np.testing.assert_array_equal(policy.start, start_of(domain))
    rng = np.random.default_rng(1)
    looked = 0
    for t in range(T):
        before = policy.snapshot()
        state, point = policy.ask(), policy.gradient_point
        assert policy.ask() is state
        assert not state.flags.writeable
        assert not point.flags.writeable
        domain.check(state)
        domain.check(point)
        assert policy.rounds == t
        assert same(policy.snapshot(), before)
        told = policy.tell(rng.uniform(-1.0, 1.0, 4))
        assert told.moved == pytest.approx(np.abs(policy.ask() - state).sum(), abs=1e-12)
        assert (told.cause == "none") <= (told.moved == 0.0)
        assert told.next_review >= 1
        looked += told.cause != "none"
    assert looked > 0


@policies
@domains
def test_inputs_are_not_changed_or_kept(name: str, domain: BoundConvexDomain) -> None:
    start, placed, gradient = start_of(domain), domain.anchor.copy(), np.full(4, 0.5)
    given_ = [x.copy() for x in (start, placed, gradient)]
    policy = POLICIES[name](domain, start, 0)
    for _ in range(10):
        policy.tell(gradient)
    policy.place(placed)
    for left, right in zip((start, placed, gradient), given_, strict=True):
        np.testing.assert_array_equal(left, right)
    state = policy.ask().copy()
    placed[:] = start[:] = gradient[:] = 0.123
    np.testing.assert_array_equal(policy.ask(), state)
    np.testing.assert_array_equal(policy.start, given_[0])


@policies
def test_snapshots_are_copies(name: str) -> None:
    policy = POLICIES[name](tt.Box().bind(4), np.full(4, 0.5), 0)
    drive(policy, 10, 1)
    before, given_away = policy.snapshot(), policy.snapshot()
    for value in given_away.values():
        if isinstance(value, np.ndarray):
            value[:] = 7
    assert same(policy.snapshot(), before)
    saved = policy.snapshot()
    again = tt.restore(tt.Box(), saved)
    for value in saved.values():
        if isinstance(value, np.ndarray):
            value[:] = 7
    assert same(again.snapshot(), before)


@policies
@domains
def test_same_seed_same_path(name: str, domain: BoundConvexDomain) -> None:
    one, two = (POLICIES[name](domain, start_of(domain), 3) for _ in range(2))
    assert_same_path(one, two, T, 7)


@pytest.mark.parametrize("name", [n for n in POLICIES if "coin" in n or "Leader" in n])
def test_another_seed_another_path(name: str) -> None:
    domain = tt.Box().bind(4)
    one, two = (drive(POLICIES[name](domain, np.full(4, 0.5), seed), T, 7) for seed in (0, 1))
    assert any((left[0] != right[0]).any() for left, right in zip(one, two, strict=True))


@policies
@domains
def test_place_is_obeyed_and_forgets_nothing(name: str, domain: BoundConvexDomain) -> None:
    policy, other = (POLICIES[name](domain, start_of(domain), 0) for _ in range(2))
    for some in (policy, other):
        drive(some, 12, 1)
    policy.place(domain.anchor)
    np.testing.assert_array_equal(policy.ask(), domain.anchor)
    assert policy.rounds == 12
    before = policy.snapshot()
    policy.place(domain.anchor)
    assert same(policy.snapshot(), before)
    # Once every component has been deployed again, nothing is left of it.
    for _ in range(T - 12):
        for some in (policy, other):
            some.tell(np.full(4, 0.3))
    if name in FROM_HERE:  # the next state is a step from this one: the way back takes time
        return
    if "coin" not in name:
        assert same(policy.snapshot(), other.snapshot())


@policies
@domains
@given(st.integers(0, T), st.integers(0, 10**6))
@settings(max_examples=8)
def test_restored_policy_has_the_same_future(
    name: str, domain: BoundConvexDomain, rounds: int, seed: int
) -> None:
    policy = POLICIES[name](domain, start_of(domain), 2)
    drive(policy, rounds, seed)
    again = tt.restore(domain, policy.snapshot())
    assert type(again) is type(policy)
    assert same(again.snapshot(), policy.snapshot())
    assert_same_path(policy, again, T, 1)


@policies
def test_restored_from_a_file_and_an_unbound_domain(name: str) -> None:
    policy: Any = POLICIES[name](tt.Box().bind(4), np.full(4, 0.5), 2**60)
    domain: Any = tt.Box()
    drive(policy, 20, 3)
    with TemporaryDirectory() as folder:
        tt.save(policy, Path(folder) / "policy")
        again: Any = tt.load(domain, Path(folder) / "policy")
    assert type(again) is type(policy)
    assert_same_path(policy, again, T, 1)


BAD: dict[str, tuple[str, Callable[[GradientPolicy], object]]] = {
    "too short": (
        "gradient has shape (3,), expected (4,); give one value per knob",
        lambda p: p.tell(np.ones(3)),
    ),
    "one number": ("gradient has shape ()", lambda p: p.tell(0.1)),
    "words": ("gradient must hold real numbers", lambda p: p.tell(["a"] * 4)),
    "NaN": ("gradient[1] = nan is not finite", lambda p: p.tell([0.0, np.nan, 0.0, 0.0])),
    "infinite": ("gradient[0] = inf is not finite", lambda p: p.tell([np.inf, 0.0, 0.0, 0.0])),
    "too long": ("above lipschitz = 2, so", lambda p: p.tell([0.0, 0.0, 0.0, 2.1])),
    "place of NaN": ("state[0] = nan is not finite", lambda p: p.place([np.nan, 0.2, 0.3, 0.5])),
    "place outside": ("state[0]", lambda p: p.place([-1.1, 0.3, 0.3, 0.5])),
    "place too short": ("state has shape (3,)", lambda p: p.place(np.zeros(3))),
}


@policies
@domains
@pytest.mark.parametrize("call", BAD)
def test_a_refused_call_changes_nothing(name: str, domain: BoundConvexDomain, call: str) -> None:
    policy = POLICIES[name](domain, start_of(domain), 0)
    drive(policy, 13, 11)
    before = policy.snapshot()
    message, act = BAD[call]
    with pytest.raises(tt.InvalidInput, match=re.escape(message)):
        act(policy)
    assert same(policy.snapshot(), before)


@policies
def test_the_horizon_is_the_end(name: str) -> None:
    policy = POLICIES[name](tt.Box().bind(4), np.full(4, 0.5), 0)
    drive(policy, T, 0)
    before = policy.snapshot()
    with pytest.raises(tt.Conflict, match="the horizon of 60 rounds has passed"):
        policy.tell(np.zeros(4))
    assert same(policy.snapshot(), before)


# Snapshots that do not fit


def snapshot_of(name: str = "LazyOGD") -> dict[str, Any]:
    policy = POLICIES[name](tt.Box().bind(4), np.full(4, 0.5), 0)
    drive(policy, 10, 0)
    return policy.snapshot()


DAMAGED: dict[str, tuple[str, dict[str, Any]]] = {
    "no step": ("incomplete: step is missing", {"step": None}),
    "a long state": ("damaged: state has shape (5,), expected (4,)", {"state": np.zeros(5)}),
    "two clocks": ("damaged: rounds has shape (2,), expected ()", {"rounds": np.zeros(2)}),
    "two budgets": ("damaged: budget has shape (2,)", {"budget": np.array([1, 2])}),
    "a state outside": ("state[0] = 2.0 is outside", {"state": np.full(4, 2.0)}),
    "no policy of ours": ("did you mean 'LazyOGD'", {"policy": "OGD"}),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_snapshots(case: str) -> None:
    message, changes = DAMAGED[case]
    saved = {k: v for k, v in (snapshot_of() | changes).items() if v is not None}
    with pytest.raises(tt.InvalidInput, match=re.escape(message)):
        tt.restore(tt.Box(), saved)


def test_snapshots_of_another_domain_or_of_a_problem() -> None:
    with pytest.raises(tt.InvalidInput, match="another domain"):
        tt.restore(tt.Box(high=0.9), snapshot_of())
    with pytest.raises(tt.InvalidInput, match="another domain"):
        tt.restore(tt.Balls([[0, 1, 2, 3]]), snapshot_of())
    problem = tt.Problem(tt.Graph.complete(4))
    with pytest.raises(tt.InvalidInput, match="LazyOGD; restore it with the domain"):
        tt.restore(problem, snapshot_of())
    other = tt.LinUCB(problem, start=[0.5] * 4, radius=0.5).snapshot()
    with pytest.raises(tt.InvalidInput, match="LinUCB; restore it with the problem"):
        tt.restore(tt.Box(), other)
