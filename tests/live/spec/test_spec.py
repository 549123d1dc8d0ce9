"""Spec files: units, losses, names, and every fault named where it is."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import inf, nan, nextafter
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import trimtab as tt
from trimtab.arrays import Array
from trimtab.live import BasisChoice, Duration, Knob, Objective, Spec, Stability, schema
from trimtab.live.spec.schema import SPEC
from trimtab.live.spec.spec import example
from trimtab.model.domain import BoundBox
from trimtab.plain.tables import Items, Named, Switch, Table

ROOT = Path(__file__).parents[3]
RECOMMENDER = ROOT / "examples" / "recommender.toml"

MINIMAL = """
name = "cache"
[knobs.ttl]
low = 30
high = 3000
start = 300
scale = "log"
unit = "s"
[knobs.workers]
low = 2
high = 10
start = 4
scale = "integer"
step = 2
[objectives.misses]
knobs = ["ttl"]
low = 0.0
high = 0.5
[objectives.speed]
knobs = ["ttl", "workers"]
low = 10
high = 20
direction = "maximize"
noise = 2
weight = 3
[metrics]
errors = "%"
[[constraints]]
rule = "speed >= 0.9 * baseline"
kind = "guardrail"
"""


def edited(old: str, new: str) -> str:
    assert old in MINIMAL
    return MINIMAL.replace(old, new, 1)


# Reading.


@pytest.mark.parametrize("text", [MINIMAL, example(), RECOMMENDER.read_text(encoding="utf-8")])
def test_round_trip(text: str) -> None:
    spec = Spec.parse(text)
    again = Spec.from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again == spec
    assert again.fingerprint == spec.fingerprint
    assert again.to_dict() == spec.to_dict()


def test_what_is_read() -> None:
    spec = Spec.parse(MINIMAL)
    assert [knob.name for knob in spec.knobs] == ["ttl", "workers"]
    assert spec.knobs[1].step == 2
    assert spec.objectives[1].direction == "maximise"
    assert spec.objectives[0].noise is None
    assert spec.metrics == {"errors": "%"}
    assert spec.storage == "sqlite:///trimtab.db"
    assert (spec.policy.kind, spec.basis.kind) == ("SteadyGraphLinUCB", "auto")
    assert spec.constraints[0].patience == 1


def test_reading_files(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_bytes(b"\xef\xbb\xbf" + MINIMAL.replace("\n", "\r\n").encode())
    beside = replace(Spec.parse(MINIMAL), storage=f"sqlite:///{tmp_path}/trimtab.db")
    assert Spec.read(path) == beside
    path.write_bytes(b'name = "\xff"\n')
    with pytest.raises(tt.InvalidInput, match=r"spec.toml is not UTF-8 at line 1"):
        Spec.read(path)
    path.write_text("name = \n", encoding="utf-8")
    with pytest.raises(tt.InvalidInput, match=r"spec.toml: no TOML: .*line 1, column 8"):
        Spec.read(path)
    with pytest.raises(tt.InvalidInput, match=r"cannot be read: No such file"):
        Spec.read(tmp_path / "none.toml")
    with pytest.raises(tt.InvalidInput, match=r"cannot be read: Is a directory"):
        Spec.read(tmp_path)
    with pytest.raises(tt.InvalidInput, match=r"cannot be read: embedded null"):
        Spec.read("a\0b")
    path.write_bytes(b"#" * 10_000_001)
    with pytest.raises(tt.InvalidInput, match=r"is larger than 10,000,000 bytes"):
        Spec.read(path)


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 100_000, "x = " + "9" * 5000, "\x00", "a = 1\na = 2"]
)
def test_hostile_toml(text: str) -> None:
    with pytest.raises(tt.InvalidInput, match="no TOML"):
        Spec.parse(text)


FAULTS: list[tuple[str, str, str]] = [
    ('scale = "log"', 'scale = "logg"', "knobs.ttl.scale = 'logg': did you mean 'log'?"),
    ("high = 3000", "hihg = 3000", "knobs.ttl.hihg: no such key; did you mean 'high'?"),
    ('name = "cache"', "", "name: it is missing; it is the name of the tuner"),
    ("low = 30\n", "low = true\n", "knobs.ttl.low = True: give a number of at least 1e-100"),
    ("low = 30\n", "low = 0\n", "knobs.ttl.low = 0: give a number of at least 1e-100"),
    ("low = 30\n", "low = 5000\n", "knobs.ttl.low = 5000: it must be below high = 3000"),
    ("low = 30\n", "low = nan\n", "knobs.ttl.low = nan: give a number"),
    ("start = 300\n", "start = 5\n", "knobs.ttl.start: ttl = 5 s is outside 30 s to 3000 s;"),
    ("start = 4\n", "start = 5\n", "knobs.workers.start: workers = 5 is none of its values"),
    ("high = 10\n", "high = 11\n", "knobs.workers.high = 11: 2 at a time from 2 it is never"),
    ("high = 10\n", "high = 10.5\n", "knobs.workers.high = 10.5: give a whole number"),
    (
        "high = 10\nstart = 4\n",
        "high = 9000\nstart = 4\n",
        "knobs.workers.step = 2: it makes 4,500",
    ),
    ("step = 2", 'step = "2"', "knobs.workers.step = '2': give a whole number from 1"),
    (
        'knobs = ["ttl"]',
        'knobs = ["tll"]',
        "objectives.misses.knobs names 'tll': no such knob; did",
    ),
    ('knobs = ["ttl"]', "knobs = []", "objectives.misses.knobs = []: give a list of at least one"),
    ('knobs = ["ttl"]', 'knobs = ["ttl", "ttl"]', "'ttl' is listed twice; name it once"),
    (
        "noise = 2",
        'noise = "guess"',
        "noise = 'guess': give a number above 0, or choose 'estimate'",
    ),
    ("noise = 2", "noise = 1e6", "objectives.speed.noise = 1000000: it is 1e+05 times the range"),
    ('direction = "maximize"', 'direction = "up"', "objectives.speed.direction = 'up': choose"),
    ("weight = 3", "weight = 0", "objectives.speed.weight = 0: give a number of at least 1e-06"),
    ("high = 20", "high = 10", "objectives.speed.low = 10: it must be below high = 10"),
    ("[metrics]", "[metrics]\nspeed = ''", "metrics.speed: a knob or an objective has that name"),
    ("objectives.misses]", "objectives.ttl]", "objectives.ttl: a knob has that name; rename one"),
    ("objectives.misses]", "objectives.baseline]", "objectives: name = 'baseline': use letters"),
    (
        "speed >= 0.9",
        "sped >= 0.9",
        "constraints[0].rule names 'sped': no such objective or metric",
    ),
    ("speed >= 0.9", "speed >= >= 0.9", "constraints[0].rule = 'speed >= >= 0.9 * baseline': '>="),
    (
        'kind = "guardrail"',
        'kind = "rail"',
        "constraints[0].kind = 'rail': did you mean 'guardrail'",
    ),
    ("[metrics]", "[policy]\nkind = 'steady'\n[metrics]", "policy.kind = 'steady': choose"),
    ("[metrics]", "[policy]\nalram = true\n[metrics]", "policy.alram: no such key; did you mean"),
    ("[metrics]", "[policy]\nkind = 'LinUCB'\nfactor = 2\n[metrics]", "policy.factor: no such key"),
    ("[metrics]", "[policy]\nradius = 1\ndelta = 0.1\n[metrics]", "policy.radius: it replaces"),
    (
        "[metrics]",
        "[basis]\nkind = 'fourier'\n[policy]\ndelta = 0.05\n[metrics]",
        "objectives.misses.norm: it is missing",
    ),
    (
        'name = "cache"',
        'name = "c"\nstorage = "mysql://me:pw@h/d"',
        "storage: give a URL",
    ),
    (
        "[knobs.workers]",
        "[knobs.ttl.stability]\nper = '1h'\n[knobs.workers]",
        "stability.per: it is",
    ),
    (
        "[knobs.workers]",
        "[knobs.ttl.stability]\nstabilize_for = '1 hour'\n[knobs.workers]",
        "stability.stabilize_for = '1 hour': give a whole number from 1 to 999,999, or a time such",
    ),
    (
        "[knobs.workers]",
        "[knobs.ttl.stability]\nmax_step = 0.5\n[knobs.workers]",
        "knobs.ttl.stability.max_step = 0.5: on a log scale it is a factor; give one above 1",
    ),
    (
        "[objectives.misses]",
        "[knobs.workers.stability]\nmax_step = 1\n[objectives.misses]",
        "knobs.workers.stability.max_step = 1: the smallest change allowed is larger, so that the "
        "knob could never move; raise it to 2",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), FAULTS, ids=[new for _, new, _ in FAULTS])
def test_a_fault_is_named_where_it_is(old: str, new: str, message: str) -> None:
    with pytest.raises(tt.InvalidInput, match=re.escape(message)) as raised:
        Spec.parse(edited(old, new), source="my.toml")
    assert str(raised.value).startswith("my.toml")
    assert "pw" not in str(raised.value)


def test_all_faults_at_once() -> None:
    text = edited('scale = "log"', 'scale = "logg"').replace("weight = 3", "weight = -1")
    text = text.replace("high = 10\n", "high = 11\n").replace("speed >=", "sped >=")
    with pytest.raises(tt.InvalidInput) as raised:
        Spec.parse(text)
    head, *lines = str(raised.value).splitlines()
    assert head == "spec has 4 problems:"
    starts = ["knobs.ttl.scale", "objectives.speed.weight", "knobs.workers.high", "constraints[0]"]
    assert [line.startswith(f"- {start}") for line, start in zip(lines, starts, strict=True)]
    assert "no such knob" not in str(raised.value)  # ttl is there, if not well


def test_a_name_that_only_a_faulty_section_defines_is_not_missed() -> None:
    _, faults = Spec.examine(edited("low = 30\n", "low = 'x'\n"))
    assert [fault.path for fault in faults] == ["knobs.ttl.low"]


# Knobs.


@st.composite
def knobs(draw: st.DrawFn) -> Knob:
    scale = draw(st.sampled_from(["linear", "log", "integer"]))
    if scale == "integer":
        low, step = draw(st.integers(-(10**6), 10**6)), draw(st.integers(1, 10**6))
        n = draw(st.integers(1, 1000))
        start = low + step * draw(st.integers(0, n))
        return Knob(name="x", low=low, high=low + n * step, start=start, scale="integer", step=step)
    if scale == "log":
        least = draw(st.floats(1e-100, 1e90))
        most = least * draw(st.floats(1.001, 1e9))
        return Knob(name="x", low=least, high=most, start=least, scale="log")
    least = draw(st.floats(-1e50, 1e50))
    most = least + max(abs(least), 1e-50) * draw(st.floats(1e-8, 1e9))
    return Knob(name="x", low=least, high=most, start=most)


@given(knobs(), st.floats(0.0, 1.0))
def test_knob_round_trips(knob: Knob, u: float) -> None:
    assert (knob.normalise(knob.low), knob.normalise(knob.high)) == (0.0, 1.0)
    assert (knob.value(0.0), knob.value(1.0)) == (knob.low, knob.high)
    if knob.steps:
        u = round(u * knob.steps) / knob.steps
    x = knob.value(u)
    assert knob.low <= x <= knob.high
    back = knob.normalise(x)
    size = max(abs(knob.low), abs(knob.high))
    if knob.scale == "integer":
        assert isinstance(x, int)
        assert back == u
        assert knob.value(back) == x
    elif knob.scale == "log":
        assert abs(knob.value(back) - x) <= 1e-14 * x
    else:
        assert abs(knob.value(back) - x) <= 3e-16 * size  # an ulp or two of the larger end


def test_knob_scales() -> None:
    ttl = Knob(name="ttl", low=10, high=1000, start=100, scale="log", unit="s")
    assert ttl.normalise(100) == 0.5
    assert ttl.value(0.25) == pytest.approx(10**1.5)
    line = Knob(name="x", low=-1, high=3, start=0)
    assert (line.normalise(0), line.value(0.5)) == (0.25, 1.0)
    count = Knob(name="n", low=4, high=10, start=8, scale="integer", step=2)
    assert [count.value(i / 3) for i in range(4)] == [4, 6, 8, 10]
    assert count.normalise(np.float64(6.0)) == 1 / 3


@pytest.mark.parametrize("value", [nextafter(10, 0), 1001, nan, inf, -inf])
def test_values_out_of_range_are_refused_with_their_unit(value: float) -> None:
    ttl = Knob(name="ttl", low=10, high=1000, start=100, scale="log", unit="s")
    with pytest.raises(tt.InvalidInput, match=r"ttl = .* s is outside 10 s to 1000 s"):
        ttl.normalise(value)


@pytest.mark.parametrize("value", [True, "5", None, [1], 10**400])
def test_values_that_are_no_numbers_are_refused(value: Any) -> None:
    knob = Knob(name="ttl", low=10, high=1000, start=100)
    with pytest.raises(tt.InvalidInput, match="ttl is"):
        knob.normalise(value)


def test_places_out_of_range_or_between_steps_are_refused() -> None:
    count = Knob(name="n", low=4, high=10, start=8, scale="integer", step=2)
    for u in (-1e-9, 1.001, nan):
        with pytest.raises(tt.InvalidInput, match=r"n = .* in normalised units is outside"):
            count.value(u)
    with pytest.raises(tt.InvalidInput, match=r"between two of its values"):
        count.value(0.5)


def test_stability_in_normalised_units() -> None:
    day = Duration.of("1d")
    gentle = Stability(max_step=10.0, per=day, tolerance=1.1, budget=1000.0, move_cost=2.0)
    ttl = Knob(name="ttl", low=1, high=10_000, start=1, scale="log", stability=gentle)
    assert ttl.max_step == pytest.approx(0.25)
    assert ttl.budget == pytest.approx(0.75)
    assert ttl.tolerance == pytest.approx(np.log(1.1) / np.log(10_000))
    line = Knob(name="x", low=-1, high=3, start=0, stability=Stability(max_step=1.0))
    assert (line.max_step, line.tolerance, line.budget) == (0.25, 0.0, inf)
    assert Knob(name="x", low=0, high=1, start=0).max_step == inf


def test_a_stability_that_forbids_every_move_is_refused() -> None:
    for gentle in (Stability(max_step=0.1, tolerance=0.2), Stability(budget=0.1, tolerance=0.2)):
        with pytest.raises(tt.InvalidInput, match=r"could never move; raise it to 0.2"):
            Knob(name="x", low=0, high=1, start=0, stability=gentle)
    exact = Stability(max_step=0.1, tolerance=0.1)
    assert Knob(name="x", low=0, high=0.3, start=0, stability=exact).max_step > 0


@pytest.mark.parametrize(
    ("plain", "seconds"), [("30s", 30), ("5m", 300), ("1h", 3600), ("2d", 172_800)]
)
def test_spans(plain: str, seconds: int) -> None:
    assert Duration.of(plain).seconds == seconds
    assert str(Duration.of(plain)) == Duration.of(plain).plain == plain


@pytest.mark.parametrize(
    "plain", ["0s", "1.5h", "1 h", "1H", "h", "-1s", "1w", "", "01s", "1s\n", 0, 1.5]
)
def test_spans_are_strict(plain: Any) -> None:
    tables = Spec.parse(MINIMAL).to_dict()
    tables["knobs"]["ttl"]["stability"] = {"stabilize_for": plain}
    with pytest.raises(tt.InvalidInput, match="give a whole number from 1 to 999,999, or a time"):
        Spec.from_dict(tables)


# Objectives.


def test_losses_and_directions() -> None:
    low = Objective(name="ms", knobs=("x",), low=100, high=300, noise=20.0)
    assert [low.loss(x) for x in (100, 150, 300, 400, 50)] == [0, 0.25, 1, 1.5, -0.25]
    assert low.sigma == 0.1
    high = Objective(name="eur", knobs=("x",), low=100, high=300, direction="maximise", noise=20.0)
    assert [high.loss(x) for x in (100, 150, 300, 400)] == [1, 0.75, 0, -0.5]
    assert (high.sigma, high.value(0.75)) == (0.1, 150)
    assert np.isnan(low.loss(nan))


@pytest.mark.parametrize("value", [inf, -inf, 1e9, "fast", True])
def test_measurements_out_of_all_proportion_are_refused(value: Any) -> None:
    objective = Objective(name="ms", knobs=("x",), low=100, high=300, unit="ms")
    with pytest.raises(tt.InvalidInput, match="ms "):
        objective.loss(value)


# Arrays.


def test_values_states_and_losses() -> None:
    spec = Spec.parse(MINIMAL)
    np.testing.assert_array_equal(spec.start, [0.5, 0.25])
    assert not spec.start.flags.writeable
    np.testing.assert_array_equal(spec.state({"workers": 10, "ttl": 30}), [0.0, 1.0])
    assert spec.values(np.array([0.0, 0.75])) == {"ttl": 30.0, "workers": 8}
    np.testing.assert_array_equal(spec.losses({"speed": 12.5, "other": 1}), [nan, 0.75])
    with pytest.raises(tt.InvalidInput, match="'tl' is no knob; did you mean 'ttl'"):
        spec.state({"tl": 30, "ttl": 30, "workers": 2})
    with pytest.raises(tt.InvalidInput, match="the value of workers is missing"):
        spec.state({"ttl": 30})
    with pytest.raises(tt.InvalidInput, match="state"):
        spec.values([0.5])


def test_problem() -> None:
    tables = Spec.parse(MINIMAL).to_dict()
    tables["knobs"]["workers"]["stability"] = {"move_cost": 2.5}
    problem = Spec.from_dict(tables).problem
    assert problem.graph == tt.Graph.from_scopes([[0], [0, 1]], knobs=2)
    assert problem.weights.tolist() == [1.0, 3.0]
    assert problem.move_cost.tolist() == [0.0, 2.5]
    assert problem.basis == tt.Problem(problem.graph).basis  # as everywhere
    tables["policy"] = {"delta": 0.05}
    assert Spec.from_dict(tables).problem.basis == tt.bases.Quadratic()
    assert isinstance(problem.domain, BoundBox)
    assert problem.domain.leveled.tolist() == [1]
    assert problem.domain.levels_of(1).tolist() == [0, 0.25, 0.5, 0.75, 1]


@pytest.mark.parametrize(
    ("basis", "built"),
    [
        ({"kind": "linear"}, tt.bases.Linear(intercept=True)),
        ({"kind": "polynomial"}, tt.bases.Polynomial(2)),
        ({"kind": "polynomial", "degree": 3}, tt.bases.Polynomial(3)),
        ({"kind": "quadratic"}, tt.bases.Quadratic()),
        ({"kind": "fourier", "dim": 8}, tt.bases.FourierFeatures(8)),
    ],
)
def test_bases(basis: dict[str, Any], built: object) -> None:
    tables = Spec.parse(MINIMAL).to_dict() | {"basis": basis}
    for objective in tables["objectives"].values():
        objective["norm"] = 4.0
    spec = Spec.from_dict(tables)
    assert spec.problem.basis == built
    assert spec.problem.dims.tolist() == [spec.basis.features(1), spec.basis.features(2)]
    assert spec.beliefs.norm.tolist() == [4.0, 4.0]


def test_wide_objectives_get_no_products() -> None:
    def basis(n: int) -> dict[str, Any]:
        names = [f"x{j}" for j in range(n)]
        each = {name: {"low": 0, "high": 1, "start": 0} for name in names}
        loss = {"y": {"knobs": names, "low": 0, "high": 1}}
        return Spec.from_dict(
            {"name": "wide", "knobs": each, "objectives": loss}
        ).resolved_basis.to_dict()

    assert [basis(n) for n in (1, 6, 10, 11, 101)] == [
        {"kind": "quadratic", "powers": 6},
        {"kind": "quadratic", "powers": 6},
        {"kind": "quadratic", "powers": 4},
        {"kind": "polynomial", "degree": 4},
        {"kind": "polynomial"},
    ]
    with pytest.raises(tt.InvalidInput, match=r"1,000 knobs make 2,001 polynomial features"):
        basis(1000)


# The default norm.


def largest_coefficient(rows: Array, f: int) -> float:
    """The largest |theta_f| of a loss that is in [0, 1] at these states: by linear programming."""
    cost = np.zeros(rows.shape[1])
    cost[f] = -1.0
    found = linprog(
        cost,
        A_ub=np.vstack((rows, -rows)),
        b_ub=np.r_[np.ones(len(rows)), np.zeros(len(rows))],
        bounds=(None, None),
    )
    assert found.fun is not None
    return float(-found.fun)


@pytest.mark.parametrize(
    ("choice", "knobs", "slack"),
    [
        (BasisChoice(kind="quadratic"), 1, 1.001),
        (BasisChoice(kind="polynomial", options={"degree": 3}), 1, 1.01),
        (BasisChoice(kind="linear"), 1, 1.001),
        (BasisChoice(kind="quadratic"), 2, 1.01),
    ],
)
def test_norm_is_that_of_the_largest_coefficients(
    choice: BasisChoice, knobs: int, slack: float
) -> None:
    problem = tt.Problem(
        tt.Graph.from_scopes([list(range(knobs))], knobs=knobs), basis=choice.build()
    )
    line = np.linspace(0.0, 1.0, 41 if knobs == 1 else 11)
    states = np.stack(np.meshgrid(*[line] * knobs), axis=-1).reshape(-1, knobs)
    rows = np.array([problem.phi(s) for s in states])
    best = [largest_coefficient(rows, f) for f in range(rows.shape[1])]
    norm = choice.norm(knobs)
    assert norm is not None
    # Coefficients are largest at once, up to signs: on a grid they may be a little larger.
    assert norm <= np.linalg.norm(best) * slack
    assert norm * slack >= np.linalg.norm(best)


@given(st.integers(1, 4), st.integers(0, 2**32))
def test_no_bounded_loss_is_longer_than_the_norm(knobs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = tt.Graph.from_scopes([list(range(knobs))], knobs=knobs)
    corners = np.stack(np.meshgrid(*[np.linspace(0, 1, 5)] * knobs), axis=-1).reshape(-1, knobs)
    for choice in (
        BasisChoice(kind="quadratic"),
        BasisChoice(kind="linear"),
        BasisChoice(kind="polynomial", options={"degree": 2}),
    ):
        problem = tt.Problem(graph, basis=choice.build())
        rows = np.array([problem.phi(s) for s in corners])
        theta: Array = np.array(rng.normal(size=rows.shape[1]))
        theta /= np.ptp(rows @ theta)
        theta[0] -= (rows @ theta).min() / rows[0, 0]
        norm = choice.norm(knobs)
        assert norm is not None
        # The bound rests on losses at the ends and the middle, which are on the grid.
        assert np.linalg.norm(theta) <= norm * (1.0 + 1e-9)


# What learns.


def test_beliefs() -> None:
    tables = Spec.parse(MINIMAL).to_dict() | {"policy": {"delta": 0.05}}
    spec = Spec.from_dict(tables)
    assert spec.beliefs.sigma is None  # one is to be estimated, so all are
    assert spec.beliefs.assumed_sigma.tolist() == [0.1, 0.1]
    tables["objectives"]["misses"]["noise"] = 0.05
    spec = Spec.from_dict(tables)
    assert spec.beliefs.sigma is not None
    assert spec.beliefs.sigma.tolist() == [0.1, 0.2]
    np.testing.assert_allclose(spec.beliefs.reg, (spec.beliefs.sigma / spec.beliefs.norm) ** 2)
    tables["policy"] = {"reg": 0.5}
    assert Spec.from_dict(tables).beliefs.reg.tolist() == [0.5, 0.5]


POLICIES: list[dict[str, Any]] = [
    {"kind": "SteadyGraphLinUCB", "rho": 0.1, "period": 100, "alarm": True},
    {"kind": "LazyGraphLinUCB", "factor": 3.0},
    {"kind": "AsyncLazyGraphLinUCB", "review": False},
    {"kind": "LinUCB", "radius": 0.5},
    {"kind": "PooledGraphLinUCB", "noise": "correlated"},
    {"kind": "JointLazyGraphLinUCB", "factor_norm": 5.0},
    {"kind": "AdaptiveGraphLinUCB", "gamma": 0.1, "warmup": 50},
    {"kind": "FixedState"},
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy["kind"])
def test_policies(policy: dict[str, Any]) -> None:
    tables = Spec.parse(MINIMAL).to_dict() | {"policy": policy}
    spec = Spec.from_dict(tables)
    built = spec.new_policy(seed=3)
    assert type(built).__name__ == policy["kind"]
    if policy["kind"] not in ("LinUCB", "AdaptiveGraphLinUCB"):
        np.testing.assert_array_equal(built.ask(), spec.start)
    built.tell(spec.losses({"misses": 0.1, "speed": 15.0}))
    spec.values(built.ask())
    again = tt.restore(spec.problem, built.snapshot())
    np.testing.assert_array_equal(again.ask(), built.ask())


def test_options_reach_the_policy() -> None:
    tables = Spec.parse(MINIMAL).to_dict()
    tables["policy"] = {"factor": 3.0, "memory": 500, "certify": 0.5, "rho": 0.25, "delta": 0.2}
    policy = Spec.from_dict(tables).new_policy(seed=5)
    assert isinstance(policy, tt.SteadyGraphLinUCB)
    assert (policy.memory, policy.certify, policy.rho) == (500, 0.5, 0.25)
    assert policy.learner.estimators.factor == 3.0
    assert policy.learner.seed == 5
    plain = tt.Confidence(sigma=None, norm=Spec.from_dict(tables).beliefs.norm, delta=0.2)
    assert repr(policy.learner.lcb.radius) == repr(plain.bind(2))


# The fingerprint.


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("start = 300", "start = 600", True),
        ('name = "cache"', 'name = "other"\nstorage = "sqlite:///x.db"', True),
        ("noise = 2", "noise = 3", True),
        ('unit = "s"', 'unit = "sec"', True),
        ('kind = "guardrail"', 'kind = "signal"', True),
        ('knobs = ["ttl", "workers"]', 'knobs = ["workers", "ttl"]', True),
        ("low = 30", "low = 30.0", True),
        ("[metrics]", "[basis]\nkind = 'quadratic'\npowers = 6\n[metrics]", True),
        ("[metrics]", "[basis]\nkind = 'quadratic'\n[metrics]", False),
        ("high = 3000", "high = 4000", False),
        ('scale = "log"', 'scale = "linear"', False),
        ("weight = 3", "weight = 4", False),
        ('direction = "maximize"', 'direction = "minimise"', False),
        ('knobs = ["ttl"]', 'knobs = ["workers"]', False),
        ("high = 0.5", "high = 0.6", False),
        ("[metrics]", "[basis]\nkind = 'linear'\n[metrics]", False),
        ("step = 2", "step = 2\nstability = { move_cost = 1 }", False),
    ],
)
def test_fingerprint(old: str, new: str, same: bool) -> None:
    assert (Spec.parse(edited(old, new)).fingerprint == Spec.parse(MINIMAL).fingerprint) is same


def test_fingerprint_is_stable() -> None:
    # Journals hold it: if this fails, data of older versions will not be recognised.
    assert Spec.parse(MINIMAL).fingerprint.startswith("92022847ced2392c")


# The schema.


def test_the_schema_is_published() -> None:
    published = json.loads(
        (ROOT / "src/trimtab/live/spec/spec.schema.json").read_text(encoding="utf-8")
    )
    assert published == schema()
    jsonschema.Draft202012Validator.check_schema(published)


@pytest.mark.parametrize("text", [MINIMAL, example(), RECOMMENDER.read_text(encoding="utf-8")])
def test_the_schema_accepts_the_examples(text: str) -> None:
    jsonschema.validate(Spec.parse(text).to_dict(), schema())


def keys(shape: object) -> set[str]:
    """Every key of the layout."""
    if isinstance(shape, Table):
        return set(shape.fields).union(*(keys(field.shape) for field in shape.fields.values()))
    if isinstance(shape, Switch):
        return {shape.key}.union(*(keys(case) for case in shape.cases.values()), shape.cases)
    return keys(shape.item) if isinstance(shape, Named | Items) else set()


def test_every_key_is_documented() -> None:
    page = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    assert len(keys(SPEC)) > 60
    assert not [key for key in sorted(keys(SPEC)) if f"`{key}`" not in page]
