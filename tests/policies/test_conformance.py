"""What every policy promises, whatever its schedule.

A policy joins by one line in POLICIES.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab.arrays import Array
from trimtab.learn.joint.noise import scope_covariance
from trimtab.policies import Policy

Make = Callable[[tt.Problem, Array, int], Policy]


def _within_scopes(graph: tt.Graph) -> Array:
    """Every scope is a factor; its own criterion has twice the share of any other."""
    scopes = [set(graph.scope(i).tolist()) for i in range(graph.criteria)]
    A = np.array([[1.0 * (inner <= outer) for inner in scopes] for outer in scopes])
    A += np.eye(graph.criteria)
    return np.asarray(A / A.sum(axis=0))


POLICIES: dict[str, Make] = {
    "LinUCB": lambda problem, start, seed: tt.LinUCB(problem, start=start, radius=0.5, seed=seed),
    "LazyGraphLinUCB": lambda problem, start, seed: tt.LazyGraphLinUCB(
        problem, start=start, radius=tt.Confidence(sigma=0.1, norm=2.0), seed=seed
    ),
    "AsyncLazyGraphLinUCB": lambda problem, start, seed: tt.AsyncLazyGraphLinUCB(
        problem, start=start, radius=0.5, seed=seed, reg=0.5
    ),
    "SteadyGraphLinUCB": lambda problem, start, seed: tt.SteadyGraphLinUCB(
        problem, start=start, radius=tt.Confidence(sigma=0.1, norm=2.0), seed=seed
    ),
    "SteadyGraphLinUCB, told nothing": lambda problem, start, seed: tt.SteadyGraphLinUCB(
        problem, start=start, seed=seed
    ),
    "LazyGraphLinUCB, told nothing": lambda problem, start, seed: tt.LazyGraphLinUCB(
        problem, start=start, seed=seed
    ),
    "AsyncLazyGraphLinUCB, told nothing": lambda problem, start, seed: tt.AsyncLazyGraphLinUCB(
        problem, start=start, seed=seed
    ),
    "LinUCB, told nothing": lambda problem, start, seed: tt.LinUCB(problem, start=start, seed=seed),
    "PooledGraphLinUCB, told nothing": lambda problem, start, seed: tt.PooledGraphLinUCB(
        problem, start=start, seed=seed
    ),
    "AdaptiveGraphLinUCB, told nothing": lambda problem, start, seed: tt.AdaptiveGraphLinUCB(
        problem, start=start, warmup=12, seed=seed
    ),
    "JointLazyGraphLinUCB, told nothing": lambda problem, start, seed: tt.JointLazyGraphLinUCB(
        problem, start=start, seed=seed
    ),
    "JointLazyGraphLinUCB, told the noise only": lambda problem, start, seed: (
        tt.JointLazyGraphLinUCB(
            problem,
            start=start,
            covariance=scope_covariance(problem.graph, sigma=0.3, floor=0.1),
            joint_only=True,
            seed=seed,
        )
    ),
    "ScalarLinUCB, told nothing": lambda problem, start, seed: tt.ScalarLinUCB(
        problem, start=start, seed=seed
    ),
    "SteadyGraphLinUCB with all options": lambda problem, start, seed: tt.SteadyGraphLinUCB(
        problem, start=start, radius=0.5, seed=seed, rho=0.5, certify=0.5, period=7, review=False
    ),
    "SteadyGraphLinUCB with a memory": lambda problem, start, seed: tt.SteadyGraphLinUCB(
        problem, start=start, radius=tt.Confidence(sigma=0.1, norm=2.0), seed=seed, memory=5
    ),
    "LazyGraphLinUCB to the letter": lambda problem, start, seed: tt.LazyGraphLinUCB(
        problem, start=start, radius=0.5, seed=seed, cold_start="keep", review=False, reg=0.3
    ),
    "JointLazyGraphLinUCB": lambda problem, start, seed: tt.JointLazyGraphLinUCB(
        problem,
        start=start,
        radius=tt.Confidence(sigma=0.1, norm=2.0),
        factor_norm=3.0,
        seed=seed,
    ),
    "JointLazyGraphLinUCB with all options": lambda problem, start, seed: tt.JointLazyGraphLinUCB(
        problem,
        start=start,
        radius=0.5,
        factors=[problem.graph.scope(i).tolist() for i in range(problem.criteria)],
        shares=_within_scopes(problem.graph),
        covariance=scope_covariance(problem.graph, sigma=0.3, floor=0.1),
        joint_only=True,
        seed=seed,
        cold_start="keep",
        review=False,
        factor_reg=0.3,
    ),
    "AdaptiveGraphLinUCB": lambda problem, start, seed: tt.AdaptiveGraphLinUCB(
        problem,
        start=start,
        radius=tt.Confidence(sigma=0.1, norm=0.5),
        gamma=3.0,
        warmup=9,
        seed=seed,
    ),
    "AdaptiveGraphLinUCB, iid, then Async": lambda problem, start, seed: tt.AdaptiveGraphLinUCB(
        problem,
        start=start,
        radius=0.5,
        gamma=1.0,
        warmup=7,
        design="iid",
        then=tt.AsyncLazyGraphLinUCB,
        seed=seed,
    ),
    "AdaptiveGraphLinUCB, noise unknown, then Steady": lambda problem, start, seed: (
        tt.AdaptiveGraphLinUCB(
            problem,
            start=start,
            radius=tt.Confidence(sigma=None, norm=2.0),
            gamma=1.0,
            warmup=30,
            then=tt.SteadyGraphLinUCB,
            seed=seed,
        )
    ),
    "PooledGraphLinUCB": lambda problem, start, seed: tt.PooledGraphLinUCB(
        problem,
        start=start,
        radius=tt.Confidence(sigma=0.1, norm=2.0),
        noise="independent",
        seed=seed,
    ),
    "PooledGraphLinUCB, correlated, then Async": lambda problem, start, seed: tt.PooledGraphLinUCB(
        problem,
        start=start,
        radius=0.5,
        noise="correlated",
        then=tt.AsyncLazyGraphLinUCB,
        seed=seed,
    ),
    "ScalarLinUCB": lambda problem, start, seed: tt.ScalarLinUCB(
        problem, start=start, radius=0.5, seed=seed
    ),
    "FixedState": lambda problem, start, seed: tt.FixedState(problem, start=start),
    "RandomState": lambda problem, start, seed: tt.RandomState(
        problem, start=start, every=3, seed=seed
    ),
    "LazyGraphLinUCB, noise unknown": lambda problem, start, seed: tt.LazyGraphLinUCB(
        problem, start=start, radius=tt.Confidence(sigma=None, norm=2.0), seed=seed
    ),
}

PROBLEMS: dict[str, Callable[[], tt.Problem]] = {
    "quadratic path": lambda: tt.Problem(tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)])),
    "scopes, levels and weights": lambda: tt.Problem(
        tt.Graph.from_scopes([[0, 1], [1], [2, 0], [1, 2]], knobs=4),
        domain=tt.Box(low=0.1, high=0.9, levels={1: [0.1, 0.4, 0.9]}),
        weights=[1.0, 0.5, 2.0, 1.0],
        move_cost=[1.0, 0.0, 2.0, 1.0],
    ),
    "balls": lambda: tt.Problem(
        tt.Graph.from_scopes([[0, 1], [2, 3]], knobs=4),
        basis=tt.bases.Linear(),
        domain=tt.Balls([[0, 1], [2, 3]]),
    ),
    "linear cliques": lambda: tt.Problem(tt.Graph.cliques([2, 2]), basis=tt.bases.Linear()),
}

policies = pytest.mark.parametrize("name", POLICIES)
problems = pytest.mark.parametrize("problem", [make() for make in PROBLEMS.values()], ids=PROBLEMS)


def start_of(problem: tt.Problem) -> Array:
    return problem.domain.sample(np.random.default_rng(0))


def same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Whether two snapshots agree to the bit."""
    return left.keys() == right.keys() and all(
        np.array_equal(left[key], right[key], equal_nan=True)
        if isinstance(left[key], np.ndarray)
        else left[key] == right[key]
        for key in left
    )


def drive(policy: Policy, rounds: int, seed: int) -> list[tuple[Array, float, str]]:
    """Tell noise with gaps, batches and other states; the path it took."""
    rng = np.random.default_rng(seed)
    m = policy.problem.criteria
    path: list[tuple[Array, float, str]] = []
    for _ in range(rounds):
        losses = rng.normal(size=m)
        losses[rng.random(m) < 0.2] = np.nan
        count = rng.integers(1, 4, m) if rng.random() < 0.3 else 1
        away = policy.problem.domain.sample(rng) if rng.random() < 0.2 else None
        told = policy.tell(losses, played=away, count=count)
        path.append((policy.ask().copy(), told.moved, told.cause))
    return path


@policies
@problems
def test_ask_only_reads_and_stays_inside(name: str, problem: tt.Problem) -> None:
    policy = POLICIES[name](problem, start_of(problem), 0)
    rng = np.random.default_rng(1)
    for _ in range(12):
        before = policy.snapshot()
        state = policy.ask()
        assert policy.ask() is state
        assert not state.flags.writeable
        problem.domain.check(state)
        assert same(policy.snapshot(), before)
        told = policy.tell(rng.normal(size=problem.criteria))
        assert told.moved == pytest.approx(np.abs(policy.ask() - state).sum(), abs=1e-12)
        assert (told.cause == "none") <= (told.moved == 0.0)
        assert told.next_review >= 1
        assert not told.triggered.size or told.cause == "trigger"


@policies
@problems
def test_inputs_are_not_changed_or_kept(name: str, problem: tt.Problem) -> None:
    start = start_of(problem)
    policy = POLICIES[name](problem, start, 0)
    losses, played = np.ones(problem.criteria), problem.domain.anchor.copy()
    count = np.full(problem.criteria, 2)
    given_ = [x.copy() for x in (start, losses, played, count)]
    policy.tell(losses, played=played, count=count)
    policy.tell(losses, count=count)
    policy.place(played)
    for left, right in zip((start, losses, played, count), given_, strict=True):
        np.testing.assert_array_equal(left, right)
    state = policy.ask().copy()
    played[:] = start[:] = 0.123
    losses[:] = 99.0
    np.testing.assert_array_equal(policy.ask(), state)


@policies
@problems
def test_same_seed_same_path(name: str, problem: tt.Problem) -> None:
    one, two = (POLICIES[name](problem, start_of(problem), 3) for _ in range(2))
    for left, right in zip(drive(one, 20, 7), drive(two, 20, 7), strict=True):
        np.testing.assert_array_equal(left[0], right[0])
        assert left[1:] == right[1:]
    assert same(one.snapshot(), two.snapshot())


@policies
@problems
def test_place_is_obeyed(name: str, problem: tt.Problem) -> None:
    policy = POLICIES[name](problem, start_of(problem), 0)
    drive(policy, 5, 1)
    rounds = policy.rounds
    anchor = problem.domain.anchor
    policy.place(anchor)
    np.testing.assert_array_equal(policy.ask(), anchor)
    assert policy.rounds == rounds
    before = policy.snapshot()
    policy.place(anchor)  # where it is already
    assert same(policy.snapshot(), before)
    # What is told next belongs to the state placed.
    policy.tell(np.ones(problem.criteria))
    again = POLICIES[name](problem, start_of(problem), 0)
    drive(again, 5, 1)
    again.place(anchor)
    again.tell(np.ones(problem.criteria), played=anchor)
    assert same(policy.snapshot(), again.snapshot())


@policies
def test_the_clock(name: str) -> None:
    problem = PROBLEMS["quadratic path"]()
    policy = POLICIES[name](problem, start_of(problem), 0)
    policy.tell(np.ones(4))
    assert policy.rounds == 1
    policy.tell(np.ones(4), count=[1, 5, 2, 1])
    assert policy.rounds == 6
    policy.tell([np.nan, np.nan, 1.0, np.nan], count=[9, 9, 3, 9])  # only what was seen counts
    assert policy.rounds == 9
    policy.tell(np.full(4, np.nan), count=7)
    assert policy.rounds == 10
    elsewhere = np.where(policy.ask() > 0.5, 0.0, 1.0)
    policy.tell(np.ones(4), played=elsewhere, count=5)
    assert policy.rounds == 10


BAD: dict[str, tuple[str, Callable[[Policy, Array], object]]] = {
    "short losses": ("shape", lambda p, s: p.tell(np.ones(p.problem.criteria - 1))),
    "losses in a column": ("shape", lambda p, s: p.tell(np.ones((p.problem.criteria, 1)))),
    "one number": ("shape", lambda p, s: p.tell(0.5)),
    "infinite loss": (r"losses\[0\]", lambda p, s: p.tell(_with(p, np.inf))),
    "negative infinite loss": (r"losses\[0\]", lambda p, s: p.tell(_with(p, -np.inf))),
    "absurd loss": (r"losses\[0\]", lambda p, s: p.tell(_with(p, 1e200))),
    "words": ("losses", lambda p, s: p.tell(["a"] * p.problem.criteria)),
    "complex": ("losses", lambda p, s: p.tell(np.ones(p.problem.criteria) * 1j)),
    "zero count": ("count", lambda p, s: p.tell(_with(p, 1.0), count=0)),
    "negative count": ("count", lambda p, s: p.tell(_with(p, 1.0), count=-1)),
    "half a round": ("count", lambda p, s: p.tell(_with(p, 1.0), count=1.5)),
    "count of NaN": ("count", lambda p, s: p.tell(_with(p, 1.0), count=np.nan)),
    "too few counts": ("count", lambda p, s: p.tell(_with(p, 1.0), count=[1])),
    "one zero among counts": (
        r"count\[0\]",
        lambda p, s: p.tell(_with(p, 1.0), count=[0] + [1] * (p.problem.criteria - 1)),
    ),
    "played of NaN": (r"played\[0\]", lambda p, s: p.tell(_with(p, 1.0), played=_at(s, np.nan))),
    "played outside": (r"played\[0\]", lambda p, s: p.tell(_with(p, 1.0), played=_at(s, 1.2))),
    "played too short": ("played", lambda p, s: p.tell(_with(p, 1.0), played=s[1:])),
    "bad loss and bad state": ("losses", lambda p, s: p.tell(_with(p, np.inf), played=_at(s, 2))),
    "place of NaN": (r"state\[0\]", lambda p, s: p.place(_at(s, np.nan))),
    "place outside": (r"state\[0\]", lambda p, s: p.place(_at(s, -1.1))),
    "place too long": ("state", lambda p, s: p.place(np.append(s, 0.5))),
}


def _with(policy: Policy, first: float) -> Array:
    losses = np.ones(policy.problem.criteria)
    losses[0] = first
    return losses


def _at(state: Array, first: float) -> Array:
    other = state.copy()
    other[0] = first
    return other


@pytest.mark.slow
@policies
@problems
def test_a_refused_call_changes_nothing(name: str, problem: tt.Problem) -> None:
    disturbed, undisturbed = (POLICIES[name](problem, start_of(problem), 0) for _ in range(2))
    for policy in (disturbed, undisturbed):
        drive(policy, 12, 11)
    before = disturbed.snapshot()
    for message, act in BAD.values():
        with pytest.raises(tt.InvalidInput, match=message):
            act(disturbed, start_of(problem))
        assert same(disturbed.snapshot(), before)
    for left, right in zip(drive(disturbed, 8, 12), drive(undisturbed, 8, 12), strict=True):
        np.testing.assert_array_equal(left[0], right[0])


@policies
def test_every_bad_call_is_refused_before_the_first_round(name: str) -> None:
    problem = PROBLEMS["quadratic path"]()
    policy = POLICIES[name](problem, start_of(problem), 0)
    for message, act in BAD.values():
        with pytest.raises(tt.InvalidInput, match=message):
            act(policy, start_of(problem))


@pytest.mark.slow
@policies
@problems
def test_restored_policy_has_the_same_future(name: str, problem: tt.Problem) -> None:
    policy = POLICIES[name](problem, start_of(problem), 2)
    for seed, rounds in enumerate((0, 1, 6, 12)):  # between two snapshots
        drive(policy, rounds, seed)
        again = tt.restore(problem, policy.snapshot())
        assert type(again) is type(policy)
        assert same(again.snapshot(), policy.snapshot())
        futures = (drive(each, 6, 10 + seed) for each in (policy, again))
        for left, right in zip(*futures, strict=True):
            np.testing.assert_array_equal(left[0], right[0])
            assert left[1:] == right[1:]
        assert same(again.snapshot(), policy.snapshot())


BAD_OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "negative reg": ("reg", {"reg": -1.0}),
    "zero reg": ("reg", {"reg": 0.0}),
    "one bad reg": (r"reg\[2\]", {"reg": [1.0, 1.0, 0.0, 1.0]}),
    "too many regs": ("reg", {"reg": np.ones(5)}),
    "negative radius": ("radius", {"radius": -0.5}),
    "radius of NaN": ("radius", {"radius": np.nan}),
    "too few radii": ("radius", {"radius": [0.5, 0.5]}),
    "sigma of another size": ("sigma", {"radius": tt.Confidence(sigma=[1.0, 1.0], norm=1.0)}),
    "start outside": (r"start\[1\]", {"start": [0.5, 1.5, 0.5, 0.5]}),
    "start of NaN": (r"start\[0\]", {"start": [np.nan, 0.5, 0.5, 0.5]}),
    "start too short": ("start", {"start": [0.5]}),
    "negative seed": ("seed", {"seed": -1}),
}


@pytest.mark.parametrize("kind", [tt.LinUCB, tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB])
@pytest.mark.parametrize("option", BAD_OPTIONS)
def test_bad_options(kind: Callable[..., Policy], option: str) -> None:
    problem = PROBLEMS["quadratic path"]()
    message, options = BAD_OPTIONS[option]
    with pytest.raises(tt.InvalidInput, match=message):
        kind(problem, **({"start": np.full(4, 0.5), "radius": 0.5} | options))


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("factor", {"factor": 1.0}),
        ("factor", {"factor": np.inf}),
        ("cold_start", {"cold_start": "warm"}),
    ],
)
def test_bad_schedules(message: str, options: dict[str, Any]) -> None:
    problem = PROBLEMS["quadratic path"]()
    with pytest.raises(tt.InvalidInput, match=message):
        tt.LazyGraphLinUCB(problem, start=np.full(4, 0.5), radius=0.5, **options)


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("sigma", lambda: tt.Confidence(sigma=0.0, norm=1.0)),
        ("norm", lambda: tt.Confidence(sigma=1.0, norm=-1.0)),
        ("delta", lambda: tt.Confidence(sigma=1.0, norm=1.0, delta=1.0)),
        ("form", lambda: tt.Confidence(sigma=1.0, norm=1.0, form="exact")),  # type: ignore[arg-type]
    ],
)
def test_bad_confidence(message: str, make: Callable[[], object]) -> None:
    with pytest.raises(tt.InvalidInput, match=message):
        make()


@policies
def test_a_masked_loss_is_a_missing_one(name: str) -> None:
    problem = PROBLEMS["quadratic path"]()
    masked, missing = (POLICIES[name](problem, start_of(problem), 0) for _ in range(2))
    for _ in range(5):
        masked.tell(np.ma.masked_array([0.1, 99.0, 0.2, 0.3], mask=[False, True, False, False]))
        missing.tell([0.1, np.nan, 0.2, 0.3])
    assert same(masked.snapshot(), missing.snapshot())


@policies
def test_any_seed_will_do(name: str) -> None:
    problem = PROBLEMS["quadratic path"]()
    for seed in (2**53 + 1, 2**63 - 1, 2**64 - 1, 2**70):
        policy = POLICIES[name](problem, start_of(problem), seed)
        assert policy.learner.seed == (0 if name == "FixedState" else seed)  # it needs none
        drive(policy, 3, 0)


class Moody:
    """A basis function of the user's own that can be made to fail."""

    broken = False

    def __call__(self, i: int, x: Array) -> list[float]:
        if self.broken:
            raise RuntimeError("not now")
        return [1.0, float(x.sum())]

    @staticmethod
    def slopes(i: int, x: Array) -> Array:
        return np.array([0.0 * x, x**0])


@pytest.mark.parametrize("kind", [tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB])
def test_a_basis_function_that_fails(kind: Callable[..., Policy]) -> None:
    """A failed solve keeps the losses and the state, a failed place changes nothing at all."""
    function = Moody()
    basis = tt.bases.Custom(function=function, bound=5.0, jacobian=function.slopes)
    problem = tt.Problem(tt.Graph.complete(2), basis=basis)
    policy = kind(problem, start=[0.5, 0.5], radius=0.5, cold_start="keep")
    policy.tell([0.1, 0.2])
    fingerprint = policy.snapshot
    before = fingerprint()
    function.broken = True
    with pytest.raises(RuntimeError, match="not now"):
        policy.place([0.2, 0.2])
    with pytest.raises(RuntimeError, match="not now"):
        policy.tell([0.1, 0.2])  # the clock has doubled
    function.broken = False
    np.testing.assert_array_equal(policy.ask(), before["state"])
    assert policy.rounds == 2
    again = tt.restore(problem, policy.snapshot())
    left, right = policy.tell([0.1, 0.2]), again.tell([0.1, 0.2])
    assert left.cause in ("review", "trigger")  # the look that failed is made up for
    assert (left.cause, left.moved, left.next_review) == (
        right.cause,
        right.moved,
        right.next_review,
    )
    assert same(policy.snapshot(), again.snapshot())
