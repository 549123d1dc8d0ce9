"""The doors of the core: what they are called, what they refuse, and that nothing else happens."""

from __future__ import annotations

import ast
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import trimtab as tt
from tests.builders import random_graph, random_posterior
from trimtab import _core
from trimtab.learn import NodewiseEstimators
from trimtab.policies.lcb import LCB

STUB = Path(__file__).parents[2] / "src" / "trimtab" / "_core.pyi"
EXAMPLES = max(int(os.environ.get("TRIMTAB_FUZZ_EXAMPLES", "0")) // 10, 300)
GENERATOR = np.random.default_rng(0)  # a capsule does not keep it alive
Call = tuple[Callable[..., Any], dict[str, Any]]


# The stub


def arguments(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in function.args.args if argument.arg != "self"]


def in_stub() -> dict[str, list[str] | None]:
    """Every door by its dotted name: its arguments, or None for a property."""
    found: dict[str, list[str] | None] = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = arguments(node)
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    name = f"{node.name}.{part.name}"
                    found[name] = None if part.decorator_list else arguments(part)
    return found


def in_module() -> dict[str, list[str] | None]:
    found: dict[str, list[str] | None] = {}
    for name, thing in vars(_core).items():
        if name.startswith("__"):
            continue
        if not isinstance(thing, type):
            found[name] = named(thing)
            continue
        for part, value in vars(thing).items():
            if not part.startswith("_") or (
                part == "__init__" and hasattr(value, "__nb_signature__")
            ):
                found[f"{name}.{part}"] = None if isinstance(value, property) else named(value)
    return found


def named(door: Any) -> list[str]:
    """The names of a door's arguments, from the signature that nanobind keeps."""
    (signature, *_), *_ = door.__nb_signature__
    inside = re.sub(
        r"\[[^\]]*\]", "", signature[signature.index("(") + 1 : signature.rindex(") ->")]
    )
    names = [part.split(":")[0].strip() for part in inside.split(",")]
    return [name for name in names if name not in ("self", "/", "")]


def test_the_stub_says_what_the_module_has() -> None:
    assert in_stub() == in_module()
    assert len(in_module()) == 26


# What doors refuse


def a_posterior(seed: int = 0) -> LCB:
    rng = np.random.default_rng(seed)
    return random_posterior(rng, random_graph(rng, 5, 6), tt.bases.Quadratic(), states=6)


def an_objective(maps: _core.Features, **arrays: Any) -> _core.Objective:
    """All arrays of a bound, a graph and a domain, each by its name there."""
    given = SimpleNamespace(**arrays)
    return _core.Objective(maps, given, given, given)


def calls() -> dict[str, Call]:
    """A valid call of every door that takes arrays, by name."""
    lcb = a_posterior()
    stats, problem, k = lcb.estimators.stats, lcb.problem, lcb.problem.knobs
    m = problem.criteria
    criteria, knobs, half = np.arange(m), np.arange(k), np.full(k, 0.5)
    objective, features = lcb.core, problem.features
    assert objective is not None
    assert isinstance(features, tt.bases.Monomials)
    domain = problem.domain
    assert isinstance(domain, tt.model.domain.BoundBox)
    ones, losses, phi = np.ones(m, np.int64), np.full(m, 0.3), problem.phi(half)
    policy = tt.AsyncLazyGraphLinUCB(problem, start=half, radius=0.5)
    local = policy.learner.local
    assert local is not None
    bits = GENERATOR.bit_generator.capsule
    plan = _core.plan(np.array([0, 2]), np.array([0, 1]), np.array([2, 3]), 100)
    assert plan is not None
    low, high = domain.low, domain.high
    bounds = {
        "low": low,
        "high": high,
        "level_offsets": domain.level_offsets,
        "level_values": domain.level_values,
    }
    regression = stats.core
    prior = tt.Prior().bind(problem)
    learned = NodewiseEstimators(
        problem, reg=np.ones(m), factor=2.0, state=half, prior=prior
    ).stats.core
    return {
        "begin": (regression.begin, {"criteria": criteria, "again": False}),
        "begin.again": (learned.begin, {"criteria": criteria, "again": True}),
        "add_round": (regression.add, {"losses": losses, "count": None, "limit": 1e100}),
        "add_rounds": (regression.add, {"losses": np.zeros((2, m)), "count": None, "limit": 1e100}),
        "add_rounds.cut": (
            learned.add,
            {"losses": np.zeros((2, m), np.float32), "count": None, "limit": 1e100},
        ),
        "add_some": (learned.add, {"losses": losses, "count": ones, "limit": 1e100}),
        "add_owed": (
            regression.add_owed,
            {"criteria": criteria, "mean": losses, "squares": losses},
        ),
        "take": (
            regression.take,
            {"criteria": criteria, "phi": phi, "losses": losses, "count": ones},
        ),
        "flush": (
            learned.flush,
            {
                "criteria": criteria,
                "rounds": 3,
                "memory": 2**62,
                "steps": 0.2,
                "lost": np.zeros(m),
            },
        ),
        "flush.faded": (
            regression.flush,
            {"criteria": criteria, "rounds": 3, "memory": 10, "steps": 0.0, "lost": np.empty(0)},
        ),
        "measure": (regression.measure, {"criteria": criteria, "factor": 2.0}),
        "predict": (
            _core.predict,
            {
                "R": stats.R,
                "blocks": stats.blocks,
                "offsets": stats.offsets,
                "criteria": criteria,
                "phi": phi,
            },
        ),
        "take.expected": (
            regression.take,
            {"criteria": criteria, "phi": phi, "losses": None, "count": ones},
        ),
        "likelihood": (
            learned.likelihood,
            {
                "criteria": criteria,
                "phi": np.tile(phi, (3, 1)),
                "n": np.ones((3, m)),
                "losses": np.ones((3, m)),
                "rounds": np.ones(3),
                "sigma": np.ones(m),
                "misfit": np.ones(m),
                "grid": np.array([0.0, 0.1]),
                "far": 9.0,
            },
        ),
        "compare": (
            learned.compare,
            {
                "sigma": np.ones(m),
                "misfit": np.ones(m),
                "g": 0.1,
                "enough": 8,
                "heard": np.zeros((6, m)),
                "far": np.empty(m),
                "alone": np.empty(m),
            },
        ),
        "fill": (features.core.fill, {"phi": phi, "state": half, "criteria": criteria}),
        "Objective": (
            an_objective,
            {
                "maps": features.core,
                "blocks": stats.blocks,
                "R": stats.R,
                "weights": problem.weights,
                "radii": lcb.radii,
                "scope_offsets": problem.graph.scope_offsets,
                "scope_knobs": problem.graph.scope_knobs,
                "touch_offsets": problem.graph.touch_offsets,
                "touch_criteria": problem.graph.touch_criteria,
                **bounds,
            },
        ),
        "weigh": (
            objective.weigh,
            {
                "current": half,
                "low": low,
                "high": high,
                "price": np.full(k, 0.1),
                "rounds": 0,
                "limit": 100,
                "prune": 0.1,
                "factor": 2.0,
                "effort": 0.1,
                "seed": 1,
                "deploy": regression,
            },
        ),
        "minimise": (
            objective.minimise,
            {
                "start": half,
                "current": half.copy(),
                "price": np.zeros(k),
                "knobs": knobs,
                "criteria": criteria,
                "effort": 0.1,
                "seed": 1,
                "curved": True,
            },
        ),
        "tabulate": (
            objective.tabulate,
            {
                "state": half,
                "knobs": knobs,
                "criteria": criteria,
                "firsts": np.arange(0, 2 * k + 1, 2),
                "values": np.tile([0.0, 1.0], k),
            },
        ),
        "choose": (
            _core.choose,
            {"states": np.array([half, low]), "values": np.ones(2), "current": high},
        ),
        "plan": (
            _core.plan,
            {
                "offsets": np.array([0, 2, 3]),
                "reads": np.array([0, 1, 1]),
                "counts": np.array([2, 3]),
                "most": 1000,
            },
        ),
        "minimum": (plan.minimum, {"tables": np.zeros(6), "toll": np.zeros(5)}),
        "update": (
            local.update,
            {
                "state": half,
                "width": 1.0,
                "around": criteria[:2],
                "triggered": criteria[:1],
                "factor": 2.0,
                "effort": 0.1,
                "seed": 0,
            },
        ),
        "play": (
            local.play,
            {
                "theta": np.zeros(phi.size),
                "sigma": np.ones(m),
                "state": half,
                "width": 1.0,
                "t": 0,
                "stop": 50,
                "clock": 0,
                "review": 40,
                "rate": 1.0,
                "bound": 0.0,
                "bound_per_round": 1.0,
                "factor": 2.0,
                "effort": 0.1,
                "seed": 0,
                "bits": bits,
            },
        ),
        "gaussian_sums": (_core.gaussian_sums, {"bits": bits, "sigma": np.ones(m), "n": ones}),
        "parts": (
            _core.parts,
            {
                "scope_offsets": problem.graph.scope_offsets,
                "scope": problem.graph.scope_knobs,
                "touch_offsets": problem.graph.touch_offsets,
                "touch": problem.graph.touch_criteria,
                "free": knobs,
            },
        ),
    }


DOORS = sorted(calls())


@pytest.mark.parametrize("name", DOORS)
def test_a_door_takes_what_it_was_made_for(name: str) -> None:
    door, given_ = calls()[name]
    door(**given_)


@pytest.mark.parametrize("name", DOORS)
def test_a_door_takes_no_other_kind_of_array(name: str) -> None:
    """Of another type, or with gaps between its entries; a state to read may be converted."""
    for argument, value in calls()[name][1].items():
        if not isinstance(value, np.ndarray) or (name, argument) in TAKEN:
            continue
        door, given_ = calls()[name]
        with pytest.raises(TypeError):
            door(**given_ | {argument: value.astype(np.complex128)})
        if value.size > 1:
            wide = np.repeat(value, 2, axis=-1)[..., ::2]
            with pytest.raises(TypeError):
                door(**given_ | {argument: wide})


TAKEN = {  # converted, or answered by -1
    ("fill", "state"),
    ("add_round", "losses"),
    ("add_rounds", "losses"),
    ("add_rounds.cut", "losses"),
}
FREE = {  # any length will do
    ("begin", "criteria"),
    ("begin.again", "criteria"),
    ("flush", "criteria"),
    ("flush.faded", "criteria"),
    ("take.expected", "criteria"),
    ("measure", "criteria"),
    ("predict", "criteria"),
    ("likelihood", "grid"),
    ("take", "criteria"),
    ("fill", "criteria"),
    ("fill", "state"),
    ("add_round", "losses"),
    ("parts", "scope_offsets"),
    ("parts", "touch_offsets"),
    ("update", "around"),
    ("update", "triggered"),
    ("add_rounds", "losses"),
    ("add_rounds.cut", "losses"),
    ("minimise", "knobs"),
    ("tabulate", "criteria"),
    ("plan", "offsets"),
    ("plan", "counts"),
}


@pytest.mark.parametrize("name", DOORS)
def test_a_door_refuses_arrays_that_do_not_fit(name: str) -> None:
    for argument, value in calls()[name][1].items():
        if isinstance(value, np.ndarray) and (name, argument) not in FREE:
            longer = np.concatenate((value, value[-1:]))
            if longer.size == value.size:  # nothing to repeat
                continue
            door, given_ = calls()[name]
            with pytest.raises(ValueError, match=r"expected|must|fit|not|reads"):
                door(**given_ | {argument: longer})


def test_indices_outside_are_named() -> None:
    stats = a_posterior().estimators.stats
    with pytest.raises(ValueError, match=r"criteria\[1\] = 99 is not an index below 6"):
        stats.core.measure(np.array([0, 99]), 2.0)
    with pytest.raises(ValueError, match=r"criteria\[0\] = -1 is not"):
        stats.core.flush(np.array([-1]), 1, 10, 0.0, np.empty(0))


def test_a_round_is_added_whole_or_not_at_all() -> None:
    stats = a_posterior().estimators.stats
    good = np.full(stats.seen.size, 0.3)
    lacking, large = good.copy(), good.copy()
    lacking[1], large[2] = np.nan, 11.0
    before = stats.counters.copy(), stats.total.copy(), stats.shift.copy()
    for bad in (lacking, large, good[:-1], good[:, None], good.astype(np.float32), good.tolist()):
        assert stats.core.add(bad, None, 10.0) == -1
    for old, new in zip(before, (stats.counters, stats.total, stats.shift), strict=True):
        np.testing.assert_array_equal(old, new)
    assert stats.core.add(good, None, 10.0) == 0
    assert stats.counters[0] == before[0][0] + 1
    np.testing.assert_array_equal(stats.shift, good)


def test_a_search_needs_every_reader_of_its_knobs() -> None:
    door, given_ = calls()["minimise"]
    with pytest.raises(ValueError, match="reads knob"):
        door(**given_ | {"criteria": given_["criteria"][1:]})
    with pytest.raises(ValueError, match="ascend"):
        door(**given_ | {"knobs": given_["knobs"][::-1].copy()})


# Whatever comes: an answer or an error, never a crash


def damaged(value: Any, how: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if not isinstance(value, np.ndarray):
        if isinstance(value, float):
            return float(rng.choice([0.0, -1.0, np.nan, np.inf, 1e300]))
        return value
    if how == "short":
        return value[: int(rng.integers(0, max(len(value), 1)))].copy()
    if how == "long":
        return np.concatenate((value, value)).copy()
    if how == "empty":
        return value[:0].copy()
    if how == "strided":
        return np.repeat(value, 2, axis=0)[::2]
    if how == "integers":
        return np.zeros(value.shape, np.int32)
    if value.dtype.kind == "i":
        return rng.integers(-3, 9, value.shape).astype(value.dtype)
    wild = value.copy()
    with np.errstate(over="ignore"):  # 1e300 has no float32
        wild[rng.random(value.shape) < 0.5] = rng.choice([np.nan, np.inf, -np.inf, 1e300, 0.0])
    return wild


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(
    st.sampled_from(DOORS),
    st.lists(
        st.sampled_from(["short", "long", "empty", "strided", "integers", "wild", "wild"]),
        min_size=1,
        max_size=2,
    ),
    st.integers(0, 2**32),
)
def test_a_door_answers_or_refuses(name: str, how: list[str], seed: int) -> None:
    door, given_ = calls()[name]
    rng = np.random.default_rng(seed)
    for each in how:
        argument = str(rng.choice(sorted(given_)))
        if argument in ("effort", "most", "memory", "rounds", "limit"):  # how long it may take
            continue
        given_[argument] = damaged(given_[argument], each, int(rng.integers(2**32)))
    with suppress(TypeError, ValueError):
        door(**given_)


# Threads


def test_many_threads_find_what_one_finds() -> None:
    lcbs = [a_posterior(seed) for seed in range(8)]
    half = np.full(5, 0.5)

    def minimum(lcb: LCB) -> tuple[bytes, float]:
        found = tt.solve.solve(lcb, half, effort=2.0)
        return found.state.tobytes(), found.value

    alone = [minimum(lcb) for lcb in lcbs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(minimum, lcbs)) == alone
            assert list(pool.map(minimum, [lcbs[0]] * 8)) == [alone[0]] * 8


def a_run(seed: int) -> tuple[bytes, float, int]:
    graph = tt.Graph.from_edges(30, [(j, (j + 1) % 30) for j in range(30)])
    world = tt.worlds.quadratic(graph, seed=seed)
    start = np.full(30, 0.5)
    policy = tt.AsyncLazyGraphLinUCB(world.problem, start=start, radius=0.5, review=False)
    trace = tt.play(policy, world, horizon=2_000, seed=seed)
    return policy.ask().tobytes(), trace.regret, trace.solves


def test_runs_from_event_to_event_are_the_same_on_many_threads() -> None:
    alone = [a_run(seed) for seed in range(4)]
    assert min(solves for *_, solves in alone) > 50
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(a_run, range(4))) == alone


def test_long_calls_release_the_interpreter() -> None:
    """Another thread ticks while a search goes on; with the lock held it could not once."""
    rng = np.random.default_rng(5)
    lcb = random_posterior(rng, random_graph(rng, 300, 400), tt.bases.Quadratic(), states=6)
    objective, k = lcb.core, lcb.problem.knobs
    assert objective is not None
    search = partial(
        objective.minimise,
        start=np.full(k, 0.5),
        current=np.full(k, 0.5),
        price=np.zeros(k),
        knobs=np.arange(k),
        criteria=lcb.problem.all_criteria,
        effort=1e4,
        seed=0,
        curved=True,
    )
    begun = time.perf_counter()
    search()
    seconds = time.perf_counter() - begun
    ticks = 0
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(search)
        while not found.done():
            time.sleep(seconds / 50)
            ticks += 1
    assert ticks >= 5


# Draws


@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_sums_of_normal_numbers_have_their_distributions(n: int) -> None:
    """Kolmogorov-Smirnov at 20,000 draws; a right one fails with probability 1e-4 each."""
    rng, size = np.random.default_rng(n), 20_000
    bits = rng.bit_generator
    mean, squares = _core.gaussian_sums(bits.capsule, np.full(size, 0.3), np.full(size, n))
    assert stats.kstest(mean, stats.norm(scale=0.3 / np.sqrt(n)).cdf).pvalue > 1e-4
    if n == 1:
        assert not squares.any()
    else:
        assert stats.kstest(squares / 0.09, stats.chi2(n - 1).cdf).pvalue > 1e-4
        assert abs(np.corrcoef(mean**2, squares)[0, 1]) < 0.04
    before = bits.state
    bits.state = before
    again = _core.gaussian_sums(bits.capsule, np.full(3, 0.3), np.full(3, n))
    bits.state = before
    assert np.array_equal(again, _core.gaussian_sums(bits.capsule, np.full(3, 0.3), np.full(3, n)))
