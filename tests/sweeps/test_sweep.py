"""Sweeps: what they describe, what they compute, and what they keep."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import trimtab as tt
from trimtab.errors import InvalidInput, TrimtabError
from trimtab.parallel.blas import one_blas_thread
from trimtab.policies import GradientPolicy, Policy
from trimtab.policies.registry import POLICIES, is_told_gradients, is_told_losses
from trimtab.sim.worlds import World
from trimtab.sweeps import Results, read_spec, sweep
from trimtab.sweeps.describe.policies import make_policy
from trimtab.sweeps.describe.settings import expand
from trimtab.sweeps.describe.worlds import GRAPHS, WORLDS, make_world, world_faults
from trimtab.sweeps.plan import plan
from trimtab.sweeps.run import Numbers, Outcome, SweepRun, carry_out, seeds_of
from trimtab.sweeps.store import Store
from trimtab.sweeps.summary import mean, ratio

EXAMPLE = Path(__file__).parents[2] / "examples" / "ring-sweep.toml"
RING: dict[str, Any] = {
    "kind": "quadratic",
    "graph": {"kind": "ring", "knobs": 3},
    "move_cost": 2.0,
}
KNOWN = {"sigma": "world", "norm": "world"}
STAY: dict[str, Any] = {"kind": "FixedState", "start": 0.5}
GUESS: dict[str, Any] = {"kind": "RandomState", "start": 0.5, "every": 3}
LAZY: dict[str, Any] = {"kind": "LazyGraphLinUCB", "start": 0.5, "radius": KNOWN}


def small(**options: Any) -> Results:
    """A sweep of a few quick runs, with some options changed."""
    given: dict[str, Any] = {
        "policies": {"stay": STAY, "guess": GUESS, "lazy": LAZY},
        "worlds": {"ring": RING, "path": {"kind": "linear", "graph": {"kind": "path", "knobs": 2}}},
        "seeds": 3,
        "horizon": 12,
        "workers": 1,
        **options,
    }
    return sweep(given.pop("policies"), given.pop("worlds"), **given)


# What a run computes.


def test_a_row_is_what_play_gives() -> None:
    sharp = {**LAZY, "radius": 0.3}
    results = small(
        policies={"lazy": sharp}, horizon=300, checkpoints=[0, 5, 300], final_states=True
    )
    rows = results.of("lazy", "ring")
    assert rows["seed"].tolist() == [0, 1, 2]
    for i in range(3):
        seeds = [int(rows[f"{name}_seed"][i]) for name in ("world", "noise", "solver")]
        assert seeds == list(seeds_of(i))
        ring = tt.Graph.from_edges(3, [(0, 1), (1, 2), (2, 0)])
        world = tt.worlds.quadratic(ring, seed=seeds[0], move_cost=2.0)
        policy = tt.LazyGraphLinUCB(world.problem, start=[0.5] * 3, radius=0.3, seed=seeds[2])
        with one_blas_thread():
            trace = tt.play(policy, world, horizon=300, seed=seeds[1])
        assert (rows["loss"][i], rows["regret"][i]) == (trace.loss, trace.regret)
        assert (rows["movement"][i], rows["price"][i]) == (trace.movement, trace.move_cost)
        assert rows["price"][i] == pytest.approx(2.0 * trace.movement)
        assert (rows["moves"][i], rows["solves"][i]) == (trace.moves, trace.solves)
        assert (rows["knobs_changed"][i], rows["reviews"][i]) == (
            trace.knobs_changed,
            trace.reviews,
        )
        assert rows["bound"][i] == policy.certificate.bound > 0.0
        assert not rows["certified"][i]
        assert rows["regret_at"][i].tolist() == trace.regret_at([0, 5, 300]).tolist()
        assert rows["movement_at"][i].tolist() == trace.movement_at([0, 5, 300]).tolist()
        assert rows["state"][i].tolist() == policy.ask().tolist()
    assert rows["moves"].min() > 1
    assert np.isnan(results.of("lazy", "path")["state"][:, 2]).all()  # there is no third knob


def test_policies_are_paired_by_seed() -> None:
    results = small()
    stay, guess = results.of("stay", "ring"), results.of("guess", "ring")
    for name in ("world_seed", "noise_seed", "solver_seed"):
        assert stay[name].tolist() == guess[name].tolist()
        assert len(set(stay[name].tolist())) == 3
    assert len({*seeds_of(5)}) == 3
    best = stay["loss"] - stay["regret"]  # of the same world
    np.testing.assert_allclose(best, guess["loss"] - guess["regret"], rtol=1e-12)


def test_a_seed_that_is_given_stays() -> None:
    fixed = small(worlds={"ring": {**RING, "seed": 4}}, policies={"stay": STAY})
    assert len(set(fixed["regret"].tolist())) == 1
    same = small(
        worlds={"ring": {**RING, "seed": 4}}, policies={"guess": {**GUESS, "seed": 1}}, seeds=2
    )
    assert len(set(same["movement"].tolist())) == 1


def test_rows_come_in_the_order_of_the_sweep() -> None:
    results = small(seeds=[7, 3])
    expected = [
        (p, w, s) for p in ("stay", "guess", "lazy") for w in ("ring", "path") for s in (7, 3)
    ]
    found = zip(*(results[name].tolist() for name in ("policy", "world", "seed")), strict=True)
    assert list(found) == expected
    assert len(results) == 12
    order = [(run.seed, run.world["kind"]) for run in _plan().to_do(set())]
    assert order[:4] == [(0, "quadratic"), (0, "quadratic"), (0, "linear"), (0, "linear")]
    assert [seed for seed, _ in order] == sorted(seed for seed, _ in order)


def _plan() -> Any:
    worlds = {"ring": RING, "a line": {"kind": "linear", "graph": {"kind": "path", "knobs": 2}}}
    return plan({"stay": STAY, "guess": GUESS}, worlds, seeds=3, horizon=5)


def test_equal_descriptions_are_one_run() -> None:
    asked = plan({"a": STAY, "b": dict(STAY)}, {"ring": RING}, seeds=4, horizon=5)
    assert len(asked.rows) == 8
    assert len(asked.to_do(set())) == 4
    results = small(policies={"a": STAY, "b": STAY})
    assert results.of("a")["regret"].tolist() == results.of("b")["regret"].tolist()


def test_cpu_seconds_alone_may_differ() -> None:
    first, second = small(), small()
    assert first["cpu_seconds"].tolist() != second["cpu_seconds"].tolist()
    assert first.same_numbers(second)
    assert not first.same_numbers(small(horizon=13))
    assert not first.same_numbers(small(final_states=True))
    ticks = iter([2.0, 5.5])
    run = SweepRun(policy=STAY, world=RING, seed=0, horizon=3)
    assert carry_out(run, clock=lambda: next(ticks)).cpu_seconds == 3.5


def test_runs_have_one_blas_thread() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

    def threads() -> set[int]:
        return {x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"}

    with one_blas_thread():
        pass  # all libraries are loaded
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert threads() == {1}
            with one_blas_thread():
                pass
            assert threads() == {1}  # another run is still going on
        assert threads() == {2}


# Descriptions.

GRADIENT_OPTIONS: dict[str, dict[str, Any]] = {
    "FollowThePerturbedLeader": {},
    "LCP": {"curvature": 0.5, "move_cost": 0.1},
    "LazyOGD": {"budget": 5},
    "ROBD": {"curvature": 0.5},
}
LOSS_OPTIONS: dict[str, dict[str, Any]] = {
    "AdaptiveGraphLinUCB": {"gamma": 0.3, "warmup": 5, "then": "SteadyGraphLinUCB", "rho": 0.1},
    "FixedState": {"radius": None},
    "JointLazyGraphLinUCB": {"factor_norm": 3.0},
    "PooledGraphLinUCB": {"noise": "independent", "period": 50},
    "RandomState": {"radius": None},
    "ScalarLinUCB": {"radius": {"sigma": 0.2, "norm": 5.0}},
}


def every_policy() -> dict[str, dict[str, Any]]:
    """One description of each kind that is told losses."""
    found = {}
    for name in filter(lambda name: is_told_losses(POLICIES[name]), POLICIES):
        options = {"kind": name, "start": 0.5, "radius": KNOWN, **LOSS_OPTIONS.get(name, {})}
        found[name] = {key: value for key, value in options.items() if value is not None}
    return found


def test_every_public_policy_can_be_described() -> None:
    policies = [
        name
        for name in tt.__all__
        if {Policy, GradientPolicy} & set(getattr(getattr(tt, name), "__mro__", ()))
    ]
    assert sorted(policies) == sorted(POLICIES)
    asked = plan(every_policy(), {"ring": RING}, seeds=1, horizon=5)
    world = make_world(RING, seed=1)
    for name, part in asked.policies.items():
        made = make_policy(part.settings, world, seed=3, horizon=5)
        assert type(made).__name__ == name
        assert not isinstance(made, GradientPolicy)
        assert made.start.tolist() == [0.5] * 3


def test_gradient_policies_in_an_adversarial_world() -> None:
    results = sweep(
        {
            name: {"kind": name, "start": 0.25, **GRADIENT_OPTIONS[name]}
            for name in POLICIES
            if is_told_gradients(POLICIES[name])
        },
        {
            "spite": {
                "kind": "adversarial",
                "domain": {"kind": "Box"},
                "knobs": 4,
                "adversary": {"kind": "RandomSigns", "bias": 0.2},
                "lipschitz": 2.0,
            }
        },
        seeds=2,
        horizon=20,
        workers=1,
    )
    assert not results.failures
    world = tt.worlds.Adversarial(
        tt.Box(), knobs=4, adversary=tt.worlds.RandomSigns(bias=0.2), lipschitz=2.0
    )
    policy = tt.LazyOGD(world.domain, start=[0.25] * 4, horizon=20, lipschitz=2.0, budget=5)
    trace = tt.play(policy, world, horizon=20, seed=seeds_of(1).noise)
    assert results.of("LazyOGD")["regret"][1] == trace.regret
    assert np.isnan(results["bound"]).all()


WORLDS_DESCRIBED: dict[str, dict[str, Any]] = {
    "linear": {"graph": {"kind": "star", "knobs": 3}, "intercept": True},
    "quadratic": {
        "graph": {"kind": "grid", "rows": 2, "columns": 2},
        "noise": {"kind": "Bounded", "width": 0.2},
        "basis": {"kind": "PairwiseQuadratic", "normalize": False},
    },
    "factored": {"graph": {"kind": "complete", "knobs": 2}},
    "sparse": {"knobs": 4, "degree": 1, "gamma": 0.3, "within": {"kind": "ring", "knobs": 4}},
    "spin_glass": {"knobs": 6},
    "hard": {"dims": [2, 3], "horizon": 100, "sigma": 0.5},
    "recommender": {"noise": 0.2, "move_cost": 1.0},
    "adversarial": {
        "domain": {"kind": "Simplex"},
        "knobs": 3,
        "adversary": {"kind": "Contrarian"},
    },
    "drifting": {"of": RING, "changes": [10, 20]},
}


@pytest.mark.parametrize("kind", WORLDS)
def test_every_kind_of_world_can_be_described(kind: str) -> None:
    settings = {"kind": kind, **WORLDS_DESCRIBED[kind]}
    assert world_faults(settings, "worlds.x") == []
    made = make_world(settings, seed=3)
    if kind == "quadratic":
        graph = tt.Graph.from_edges(4, [(0, 1), (2, 3), (0, 2), (1, 3)])
        by_hand = tt.worlds.quadratic(
            graph,
            seed=3,
            noise=tt.worlds.Bounded(0.2),
            basis=tt.bases.PairwiseQuadratic(normalize=False),
        )
        assert isinstance(made, World)
        assert made.theta.tolist() == by_hand.theta.tolist()
        assert made.noise == by_hand.noise
    if isinstance(made, tt.worlds.Drifting):
        thetas = [now.theta.tolist() for now in made.worlds]
        each = [make_world(RING, seed=3 + j) for j in range(3)]
        assert thetas == [now.theta.tolist() for now in each if isinstance(now, World)]
        assert made.first == [1, 10, 20]


@pytest.mark.parametrize(
    ("settings", "graph"),
    [
        ({"kind": "ring", "knobs": 4}, tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])),
        ({"kind": "path", "knobs": 3}, tt.Graph.from_edges(3, [(0, 1), (1, 2)])),
        ({"kind": "complete", "knobs": 3}, tt.Graph.complete(3)),
        ({"kind": "cliques", "sizes": [2, 1]}, tt.Graph.cliques([2, 1])),
        ({"kind": "edges", "knobs": 3, "edges": [[0, 2]]}, tt.Graph.from_edges(3, [(0, 2)])),
        (
            {"kind": "scopes", "scopes": [[0, 1], [1]], "knobs": 2},
            tt.Graph.from_scopes([[0, 1], [1]], knobs=2),
        ),
    ],
)
def test_graphs_by_name(settings: dict[str, Any], graph: tt.Graph) -> None:
    from trimtab.sweeps.describe.kinds import make

    assert make(settings, GRAPHS) == graph


def test_words_that_refer_to_the_world() -> None:
    drifting = make_world({"kind": "drifting", "of": RING, "changes": [5]}, seed=1)
    assert isinstance(drifting, tt.worlds.Drifting)
    options = {**LAZY, "reg": "balanced"}
    policy = make_policy(options, drifting, seed=0, horizon=9)
    assert isinstance(policy, tt.LazyGraphLinUCB)
    norms = np.maximum(drifting.worlds[0].norms, drifting.worlds[1].norms)
    radius = tt.Confidence(sigma=[0.1] * 3, norm=norms)
    by_hand = tt.LazyGraphLinUCB(
        drifting.problem, start=[0.5] * 3, radius=radius, reg=radius.balanced_reg
    )
    assert policy.snapshot()["reg"].tolist() == by_hand.snapshot()["reg"].tolist()
    assert policy.ask().tolist() == by_hand.ask().tolist()
    world = make_world(RING, seed=1)
    unknown = {**LAZY, "radius": {"sigma": "estimated", "norm": 2.0}}
    waiting = make_policy(unknown, world, seed=0, horizon=9)
    assert isinstance(waiting, tt.LazyGraphLinUCB)
    assert waiting.rounds_left() == 21
    switches = make_policy({**LAZY, "binary": True, "start": [0, 1, 1]}, world, seed=0, horizon=9)
    assert np.isin(switches.ask(), [0.0, 1.0]).all()


def test_each_expands_into_all_combinations() -> None:
    settings = {"kind": "linear", "graph": {"kind": "ring", "knobs": {"each": [3, 4]}}}
    found = expand("w", {**settings, "move_cost": {"each": [1.0, 2.5]}})
    assert list(found) == [
        "w knobs=3 move_cost=1.0",
        "w knobs=3 move_cost=2.5",
        "w knobs=4 move_cost=1.0",
        "w knobs=4 move_cost=2.5",
    ]
    assert found["w knobs=4 move_cost=1.0"]["graph"] == {"kind": "ring", "knobs": 4}
    assert settings["graph"] == {"kind": "ring", "knobs": {"each": [3, 4]}}  # not mutated
    for wrong in ([], 3, [1, 1]):
        with pytest.raises(InvalidInput, match="list"):
            expand("w", {"factor": {"each": wrong}})


def a_policy(world: World, seed: int) -> Policy:
    return tt.RandomState(world.problem, start=np.full(world.problem.knobs, 0.5), seed=seed)


def a_world(seed: int) -> World:
    return tt.worlds.linear(tt.Graph.complete(2), seed=seed)


def test_functions_of_ones_own() -> None:
    results = small(
        policies={"mine": a_policy, "theirs": {"kind": "RandomState", "start": 0.5}},
        worlds={
            "mine": a_world,
            "theirs": {"kind": "linear", "graph": {"kind": "complete", "knobs": 2}},
        },
    )
    numbers = [
        results.of(p, w)["movement"].tolist()
        for p in ("mine", "theirs")
        for w in ("mine", "theirs")
    ]
    assert numbers[0] == numbers[1] == numbers[2] == numbers[3]
    described = results.provenance["settings"]["policies"]["mine"]
    assert described["function"].endswith("test_sweep:a_policy")
    assert len(described["source"]) == 64


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"policies": {"x": {**LAZY, "kind": "LazyGraphLinUBC"}}},
            r"policies\.x\.kind = 'LazyGraphLinUBC': did you mean 'LazyGraphLinUCB'",
        ),
        ({"policies": {"x": {**LAZY, "kind": "linucb"}}}, "did you mean 'LinUCB'"),
        (
            {"policies": {"x": {**LAZY, "raduis": 1}}},
            r"policies\.x\.raduis: no such key; did you mean 'radius'",
        ),
        (
            {"policies": {"x": {**LAZY, "radius": {"sigma": 1, "nrom": 1}}}},
            r"x\.radius\.nrom: no such key; did you mean 'norm'",
        ),
        ({"policies": {"x": {**LAZY, "radius": {"sigma": 1}}}}, r"x\.radius\.norm: it is missing"),
        (
            {"policies": {"x": {"kind": "LinUCB", "radius": 0.5}}},
            r"x\.start: it is missing",
        ),
        ({"policies": {"x": {**LAZY, "problem": 1}}}, r"x\.problem: it is the world's"),
        (
            {"policies": {"x": {**every_policy()["AdaptiveGraphLinUCB"], "then": "Lazy"}}},
            "then = 'Lazy'",
        ),
        (
            {"policies": {"x": {**every_policy()["AdaptiveGraphLinUCB"], "roh": 1}}},
            "did you mean 'rho'",
        ),
        ({"policies": {"x": {"start": 0.5}}}, r"x\.kind: it is missing; choose "),
        ({"policies": {"x": {"kind": 7}}}, "kind = 7: choose "),
        ({"policies": {"x": 7}}, "describe it by a table"),
        ({"policies": {"x": {**LAZY, "start": object()}}}, r"x\.start is a object"),
        ({"policies": {"x": {3: 1}}}, "keys are strings"),
        ({"policies": {"x": lambda world, seed: None}}, "at the top of a module"),
        ({"policies": {"x": {**LAZY, "kind": "ScalarLinUCB"}}}, "the number of the total"),
        ({"policies": {}}, "at least one"),
        ({"policies": {3: LAZY}}, "names are strings"),
        ({"worlds": {"w": {**RING, "kind": "quadratics"}}}, r"worlds\.w\.kind .* 'quadratic'"),
        (
            {"worlds": {"w": {**RING, "graph": {"kind": "rign", "knobs": 3}}}},
            r"w\.graph\.kind .* 'ring'",
        ),
        ({"worlds": {"w": {**RING, "graph": {"kind": "ring"}}}}, r"graph\.knobs: it is missing"),
        (
            {"worlds": {"w": {"kind": "drifting", "of": {**RING, "colour": 1}, "changes": [3]}}},
            r"w\.of\.colour",
        ),
        (
            {"worlds": {"w": {"kind": "drifting", "of": {"kind": "recommender"}, "changes": [3]}}},
            r"w\.of\.kind",
        ),
        (
            {"worlds": {"w": {"kind": "drifting", "of": 3, "changes": [3]}}},
            r"w\.of = 3: write",
        ),
        (
            {"policies": {"x factor=2": LAZY, "x": {**LAZY, "factor": {"each": [2]}}}},
            "two of the name",
        ),
        ({"seeds": 0}, "seeds = 0"),
        ({"seeds": [1, 1]}, "each seed once"),
        ({"seeds": []}, "at least one"),
        ({"seeds": [-1]}, r"seeds\[0\] = -1"),
        ({"horizon": 0}, "horizon = 0"),
        ({"checkpoints": [5, 13]}, r"checkpoints\[1\] = 13 is beyond the horizon"),
        ({"workers": 0}, "workers = 0"),
        ({"client": 3, "workers": None}, "client = 3"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=message):
        small(store=tmp_path / "x.sqlite", **options)
    assert not list(tmp_path.iterdir())


# The store.


def rows_of(path: Path) -> dict[str, tuple[Any, ...]]:
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT * FROM runs").fetchall()
    db.close()
    assert len({row[0] for row in rows}) == len(rows)
    return {row[0]: row for row in rows}


def test_a_store_is_added_to_and_nothing_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.sqlite"
    made: list[SweepRun] = []

    def counted(run: SweepRun) -> Outcome:
        made.append(run)
        return carry_out(run)

    monkeypatch.setattr("trimtab.sweeps.local.carry_out", counted)
    first = small(store=path, seeds=2, checkpoints=[5], final_states=True)
    kept = rows_of(path)
    assert len(kept) == 12
    again = small(store=path, seeds=2, checkpoints=[5], final_states=True)
    assert len(made) == 12
    assert rows_of(path) == kept
    assert first.same_numbers(again)
    assert again["cpu_seconds"].tolist() == first["cpu_seconds"].tolist()
    more = small(store=path, seeds=3, checkpoints=[5], final_states=True)
    assert len(made) == len(rows_of(path)) == 18
    assert rows_of(path).items() >= kept.items()
    assert more.same_numbers(small(checkpoints=[5], final_states=True))
    renamed = small(store=path, seeds=2, policies={"s": STAY}, checkpoints=[5], final_states=True)
    assert len(rows_of(path)) == 18  # a name is not part of a run
    assert renamed["regret"].tolist() == first.of("stay")["regret"].tolist()
    small(store=path, seeds=2, horizon=11)  # other settings: other runs
    assert len(rows_of(path)) == 30
    assert list(tmp_path.iterdir()) == [path]  # no journal is left


def test_what_went_well_is_never_overwritten(tmp_path: Path) -> None:
    asked = plan({"stay": STAY}, {"ring": RING}, seeds=1, horizon=5)
    (run,) = asked.to_do(set())
    with Store(tmp_path / "x") as store:
        store.begin(asked, {})
        store.add(asked, [(run, Outcome(numbers=None, error="out of luck"))])
        assert store.done() == set()
        good = carry_out(run)
        store.add(asked, [(run, good)])
        store.add(asked, [(run, Outcome(numbers=None, error="by somebody else"))])
        assert store.done() == {run.digest}
        assert store.outcomes({run.digest}) == {run.digest: good}
        assert store.outcomes(set()) == {}


def test_a_store_knows_where_its_numbers_come_from(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    results = small(store=path)
    with sqlite3.connect(path) as db:
        ((sweep_digest, around),) = db.execute("SELECT * FROM sweeps").fetchall()
        settings = dict(db.execute("SELECT * FROM settings").fetchall())
        policies = {row[0] for row in db.execute("SELECT DISTINCT policy FROM runs")}
    db.close()
    assert json.loads(settings[sweep_digest]) == results.provenance["settings"]
    told = dict(results.provenance)
    del told["settings"]
    assert json.loads(settings[around]) == told
    assert sorted(json.loads(settings[x])["kind"] for x in policies) == sorted(
        x["kind"] for x in (STAY, GUESS, LAZY)
    )
    told = dict(results.provenance)
    assert told["versions"]["trimtab"] == told["settings"]["version"] == tt.__version__
    assert told["versions"]["numpy"] == np.__version__
    assert told["settings"]["seeds"] == [0, 1, 2]
    assert told["settings"]["worlds"]["ring"] == RING


def test_numbers_come_back_from_the_store_as_they_went_in(tmp_path: Path) -> None:
    spite = {
        "kind": "adversarial",
        "domain": {"kind": "Box"},
        "knobs": 2,
        "adversary": {"kind": "Contrarian"},
    }
    ogd = {"kind": "LazyOGD", "start": 0.5, "budget": 3}
    results = small(policies={"ogd": ogd}, worlds={"spite": spite}, store=tmp_path / "x")
    assert np.isnan(results["bound"]).all()
    types = {"float": "f", "int": "i", "bool": "b"}
    for f in fields(Numbers):
        assert results[f.name].dtype.kind == types[str(f.type)]
    certain = {"kind": "LinUCB", "start": 0.5, "radius": KNOWN}
    linear = {"kind": "linear", "graph": {"kind": "path", "knobs": 2}}
    assert small(policies={"exact": certain}, worlds={"w": linear})["certified"].all()


def broken(world: World, seed: int) -> Policy:
    if not Path(os.environ["MENDED"]).exists() and seed == seeds_of(1).solver:
        raise RuntimeError("the knobs are stuck")
    return a_policy(world, seed)


def test_a_failure_is_kept_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENDED", str(tmp_path / "mended"))
    path = tmp_path / "x.sqlite"
    options: dict[str, Any] = {"policies": {"stay": STAY, "bad": broken}, "worlds": {"ring": RING}}
    results = small(store=path, **options)
    assert len(results) == 5
    (failure,) = results.failures
    assert (failure.policy, failure.world, failure.seed) == ("bad", "ring", 1)
    assert failure.error == "RuntimeError: the knobs are stuck"
    assert "in broken" in failure.details
    assert repr(results) == "Results(5 runs, 2 policies, 1 worlds, 1 failed)"
    assert results.of("bad").failures == results.failures
    assert not results.of("stay").failures
    with pytest.raises(InvalidInput, match="did you mean 'stay'"):
        results.of("stya")
    before = rows_of(path)
    small(store=path, **options)
    assert len(rows_of(path)) == 6
    (tmp_path / "mended").touch()
    mended = small(store=path, **options)
    assert not mended.failures
    assert mended["seed"].tolist() == [0, 1, 2] * 2
    after = rows_of(path)
    assert [key for key in after if after[key] != before[key]] == [
        key for key in before if before[key][6]
    ]


def test_another_version_is_another_run_and_never_mixed() -> None:
    run = SweepRun(policy=STAY, world=RING, seed=0, horizon=3)
    other = SweepRun(policy=STAY, world=RING, seed=0, horizon=3, version="0.0.1")
    assert run.digest != other.digest
    assert "install the same one" in carry_out(other).error
    assert SweepRun(policy=STAY, world=RING, seed=0, horizon=4).digest != run.digest
    assert (
        SweepRun(policy=STAY, world=RING, seed=0, horizon=3, final_state=True).digest != run.digest
    )
    assert (
        SweepRun(policy=STAY, world=RING, seed=0, horizon=3, checkpoints=(1,)).digest != run.digest
    )


def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_bytes(b"these are only words, " * 300)
    with pytest.raises(InvalidInput, match="no sweep's store, or is damaged"):
        small(store=words)
    assert words.read_bytes() == b"these are only words, " * 300
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE a (x)")
    db.close()
    with pytest.raises(InvalidInput, match="is a database, but no sweep's"):
        small(store=other)
    newer = tmp_path / "newer.sqlite"
    small(store=newer, seeds=1)
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version = 7")
    db.close()
    with pytest.raises(InvalidInput, match="has layout 7"):
        small(store=newer)
    with pytest.raises(TrimtabError, match="cannot be used: unable to open"):
        small(store=tmp_path / "no" / "such" / "folder.sqlite")


def test_a_damaged_store_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.sqlite"
    far = {"kind": "linear", "graph": {"kind": "path", "knobs": 1500}}  # its state fills pages
    small(store=path, seeds=2, worlds={"far": far}, policies={"stay": STAY}, final_states=True)
    small(store=path, seeds=10)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInput, match="damaged"):
        small(store=path, seeds=10)
    made: list[SweepRun] = []
    monkeypatch.setattr("trimtab.sweeps.local.carry_out", made.append)
    place = whole.index(np.full(1500, 0.5).tobytes()[:2000])  # within a state
    path.write_bytes(whole[: place + 4] + b"?" + whole[place + 5 :])
    with pytest.raises(InvalidInput, match=r"run \w+ has changed"):
        small(store=path, seeds=11)
    place = whole.index(b'"knobs":1500')
    path.write_bytes(whole[: place + 8] + b"2" + whole[place + 9 :])
    with pytest.raises(InvalidInput, match=r"settings \w+ have changed"):
        small(store=path, seeds=11)
    pages = range(4096, len(whole), 4096)
    assert len(pages) > 5
    for page in pages:
        path.write_bytes(whole[:page] + bytes(4096) + whole[page + 4096 :])
        with pytest.raises(InvalidInput, match="damaged"):
            small(store=path, seeds=11, final_states=True)
    assert not made  # it was seen before anything ran


# Tables.


def test_saved_tables_hold_every_bit(tmp_path: Path) -> None:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    results = small(checkpoints=[5, 12], final_states=True)
    for ending in ("parquet", "npz", "csv"):
        results.save(tmp_path / f"x.{ending}")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["x.csv", "x.csv.json", "x.npz", "x.parquet"]
    told = {**results.provenance, "failures": []}
    flat = {
        **{name: x for name, x in results.columns.items() if x.ndim == 1},
        "regret_at_5": results["regret_at"][:, 0],
        "movement_at_12": results["movement_at"][:, 1],
        "state_2": results["state"][:, 2],
    }
    table = pq.read_table(tmp_path / "x.parquet")
    assert json.loads(table.schema.metadata[b"trimtab"]) == told
    for name, column in flat.items():
        np.testing.assert_array_equal(table[name].to_numpy(), column)
    assert table.num_columns == len(results.columns) - 3 + 2 * 2 + 3
    with np.load(tmp_path / "x.npz") as archive:
        assert json.loads(archive["provenance"].item()) == told
        assert archive["regret_at"].tobytes() == results["regret_at"].tobytes()
        assert set(archive.files) == {*results.columns, "provenance"}
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["regret"]) for line in lines] == results["regret"].tolist()
    assert [line["certified"] for line in lines] == [str(x) for x in results["certified"].tolist()]
    assert json.loads((tmp_path / "x.csv.json").read_text(encoding="utf-8")) == told


def test_what_cannot_be_saved_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = small(seeds=1)
    with pytest.raises(InvalidInput, match=r"ending '\.xlsx'"):
        results.save(tmp_path / "x.xlsx")
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as where it is not installed
    with pytest.raises(InvalidInput, match=r"pip install 'trimtab\[parquet\]'"):
        results.save(tmp_path / "x.parquet")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidInput, match="did you mean 'regret'"):
        results["regrte"]


def test_columns_are_closed_for_writing() -> None:
    with pytest.raises(ValueError, match="read-only"):
        small(seeds=1)["regret"][0] = 0.0


# The summary.


def test_summary_is_of_means_and_paired_ratios() -> None:
    results = small(seeds=5)
    lines = {(x.world, x.policy): x for x in results.summary("stay").lines}
    assert list(lines)[:4] == [
        ("ring", "stay"),
        ("ring", "guess"),
        ("ring", "lazy"),
        ("path", "stay"),
    ]
    guess, stay = results.of("guess", "ring"), results.of("stay", "ring")
    line = lines["ring", "guess"]
    assert line.seeds == 5
    assert line.movement.value == pytest.approx(guess["movement"].mean())
    total = guess["regret"] + guess["price"]
    assert line.total.value == pytest.approx(total.mean())
    assert line.total.plus_minus == pytest.approx(2.7764451 * total.std(ddof=1) / np.sqrt(5))
    assert line.ratio is not None
    assert line.ratio.value == pytest.approx(total.sum() / stay["regret"].sum())
    own = lines["ring", "stay"].ratio
    assert own is not None
    assert (own.value, own.plus_minus) == (1.0, 0.0)
    assert results.summary().lines[0].ratio is None
    text = str(results.summary("stay"))
    assert "of stay's" in text
    assert str(line.total) in text
    with pytest.raises(InvalidInput, match="did you mean 'lazy'"):
        results.summary("lasy")


def test_intervals_cover() -> None:
    # 95 % of 4000 intervals must hold the truth; a count outside 0.95 +- 0.015 has a
    # probability below 2e-5 if they do. The ratio's interval is linearised: 0.93 to 0.97.
    rng = np.random.default_rng(3)
    shared = rng.normal(10.0, 2.0, (4000, 20))
    above, below = 2.0 * shared + rng.normal(size=shared.shape), shared
    plain = [mean(x) for x in below]
    held = np.mean([abs(x.value - 10.0) <= x.plus_minus for x in plain])
    assert 0.935 < held < 0.965
    ratios = [ratio(x, y) for x, y in zip(above, below, strict=True)]
    held = np.mean([abs(x.value - 2.0) <= x.plus_minus for x in ratios])
    assert 0.93 < held < 0.97
    unpaired = [ratio(x, rng.permutation(y)) for x, y in zip(above, below, strict=True)]
    assert np.mean([x.plus_minus for x in unpaired]) > 2 * np.mean([x.plus_minus for x in ratios])


def test_names_are_printed_as_they_are() -> None:
    text = str(small(policies={"[bold]": STAY}, worlds={"[red]": RING}).summary("[bold]"))
    assert "[red]\n" in text
    assert "  [bold]  " in text
    assert "of [bold]'s" in text


def test_what_has_no_interval_has_none() -> None:
    assert str(mean(np.array([3.0]))) == "3"
    assert np.isnan(ratio(np.array([1.0, 2.0]), np.zeros(2)).value)


def test_policies_that_always_fail_are_left_out_of_the_summary() -> None:
    results = small(policies={"stay": STAY, "out": {**STAY, "start": 2.0}}, worlds={"ring": RING})
    assert [line.policy for line in results.summary("out").lines] == ["stay"]
    assert results.summary("out").lines[0].ratio is None


# The file.


def test_the_example_is_read() -> None:
    spec = read_spec(EXAMPLE, seeds=2)
    assert spec.baseline == "lazy"
    assert spec.plan.seeds == (0, 1)
    assert list(spec.plan.worlds) == ["ring move_cost=1.0", "ring move_cost=30.0"]
    assert spec.plan.policies["stay"].settings == STAY


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("seeds = 5", "sedes = 5"), "sedes: no such key; did you mean 'seeds'"),
        (("horizon = 10_000", ""), "horizon: it is missing; it is the number of rounds"),
        (("horizon =", "horizon"), "is not TOML"),
        (('baseline = "lazy"', 'baseline = "lasy"'), "baseline = 'lasy' is no policy"),
        (("knobs = 6", "knbos = 6"), r"graph\.knbos"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(
    change: tuple[str, str], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.toml"
    path.write_text(EXAMPLE.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    with pytest.raises(InvalidInput, match=message) as error:
        read_spec(path)
    assert str(path) in str(error.value)


def test_no_file() -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_spec("nowhere.toml")


# The bar.


def test_the_bar_is_shown_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    small(seeds=1)
    assert capsys.readouterr() == ("", "")
    small(seeds=1, progress=True, policies={"stay": STAY, "out": {**STAY, "start": 2.0}})
    out, err = capsys.readouterr()
    assert out == ""
    assert "4/4" in err
    assert "2 failed" in err


def test_a_terminal_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[bool] = []

    def console(*, stderr: bool) -> Console:
        shown.append(stderr)
        return Console(quiet=True)

    monkeypatch.setattr("trimtab.parallel.progress.Console", console)
    small(seeds=1)
    assert not shown
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    small(seeds=1)
    assert shown == [True]


# The page.


def test_every_kind_is_documented() -> None:
    from trimtab.sweeps.describe.worlds import ADVERSARIES, BASES, DOMAINS, NOISES

    page = (EXAMPLE.parents[1] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    groups = (WORLDS, GRAPHS, NOISES, BASES, DOMAINS, ADVERSARIES, POLICIES)
    assert [name for group in groups for name in group if f"`{name}`" not in page] == []
    columns = small(seeds=1, checkpoints=[1], final_states=True).columns
    assert [name for name in columns if f"`{name}`" not in page] == []
    example = EXAMPLE.read_text(encoding="utf-8")
    assert example[example.index("horizon") :] in page
