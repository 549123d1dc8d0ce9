"""Any text, any tables, any rule: a clear error or a valid spec, never a traceback or a hang."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trimtab as tt
from tests.brief import shorten
from tests.fuzzing import examples
from trimtab.advise import simulation
from trimtab.advise.doctor import report_on
from trimtab.live import Constraint, Spec, schema
from trimtab.live.diagram import diagram
from trimtab.live.spec.reader import parts_of
from trimtab.live.spec.schema import POLICY, SPEC
from trimtab.live.spec.spec import example

VALIDATOR = jsonschema.Draft202012Validator(schema())


def judged(text: str) -> Spec | None:
    """The spec, or None after a clear error."""
    try:
        return Spec.parse(text)
    except tt.InvalidInput as error:
        message = str(error)
    assert message.startswith("spec")
    assert len(message) < 20_000
    return None


# Texts.

LINES = example().splitlines()
PIECES = st.sampled_from([*"[]{}=\"'.,#\n-+_eE0", "[[", "]]", "inf", "nan", "true", "1e999", "\\u"])


@examples(0.12)
@given(st.text() | st.lists(PIECES | st.sampled_from(LINES), max_size=30).map("\n".join))
def test_any_text(text: str) -> None:
    judged(text)


@examples(0.12)
@given(st.data())
def test_damaged_texts(data: st.DataObject) -> None:
    text = example()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.sampled_from([0, 0, 1, 1, 2, 5, 40]))
        new = data.draw(PIECES | st.text(max_size=3) | st.just(""))
        text = text[:at] + new + text[at + length :]
    spec = judged(text)
    if spec is not None:
        assert Spec.from_dict(spec.to_dict()) == spec


# Tables.

NAMES = st.sampled_from(["ttl", "a", "b_1", "Speed", "x" * 64])
NUMBERS = st.integers(-5, 5) | st.floats(-1e3, 1e3).map(lambda x: round(x, 3))
DURATIONS = st.sampled_from(["30s", "5m", "1h", "2d", 1, 7])


@st.composite
def knobs(draw: st.DrawFn) -> dict[str, Any]:
    scale = draw(st.sampled_from(["linear", "log", "integer"]))
    low, width = draw(st.integers(1, 50)), draw(st.integers(1, 40))
    table: dict[str, Any] = {"low": low, "high": low + width, "start": low, "scale": scale}
    if draw(st.booleans()):
        table["unit"] = draw(st.sampled_from(["s", "%", "", "µs", "[red]"]))
    gentle: dict[str, Any] = {"move_cost": draw(st.sampled_from([0, 0.5, 20]))}
    if draw(st.booleans()):
        gentle |= {"max_step": width + 1, "per": draw(DURATIONS)}
    if draw(st.booleans()):
        gentle |= {"budget": 100 * width + 2.0, "stabilize_for": draw(DURATIONS)}
    return table | {"stability": gentle} if draw(st.booleans()) else table


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """Tables of a valid spec."""
    turned = draw(st.dictionaries(NAMES, knobs(), min_size=1, max_size=4))
    objectives: dict[str, Any] = {}
    for i in range(draw(st.integers(1, 3))):
        low = draw(NUMBERS)
        read = st.lists(st.sampled_from(sorted(turned)), min_size=1, unique=True)
        table: dict[str, Any] = {"knobs": draw(read), "low": low, "high": low + 2, "norm": 4}
        if draw(st.booleans()):
            table["noise"] = draw(st.sampled_from(["estimate", 0.25, 1]))
        if draw(st.booleans()):
            table["direction"] = draw(st.sampled_from(["minimise", "maximize"]))
        objectives[f"y{i}"] = table
    rule = {"rule": "y0 <= 1.05 * baseline + errors", "kind": "guardrail", "patience": 2}
    kind = draw(st.sampled_from([*POLICY.cases]))
    needed: dict[str, dict[str, Any]] = {
        "PooledGraphLinUCB": {"noise": "independent"},
        "AdaptiveGraphLinUCB": {"gamma": 0.2},
        "JointLazyGraphLinUCB": {"factor_norm": 3},
    }
    policy = {"kind": kind, **needed.get(kind, {})} if draw(st.booleans()) else {"delta": 0.1}
    return {
        "name": "fuzz",
        "knobs": turned,
        "objectives": objectives,
        "metrics": {"errors": "%"},
        "constraints": [rule] * draw(st.integers(0, 2)),
        "basis": draw(st.sampled_from([{}, {"kind": "linear"}, {"kind": "fourier", "dim": 4}])),
        "policy": policy,
    }


SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0, -1, 1e-320, 1e101, 10**400, 2**53, 1.0, 0.5, 1e100])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["log", "integer", "1h", "baseline", "1s\n", "estimate", "a" * 65, "\ud800"])
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all parts of some tables."""
    found, items = [path], list[Any]()
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, item in items:
        found += places(item, (*path, key))
    return found


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """Tables near those of a valid spec, with up to three things changed."""
    plain = copy.deepcopy(draw(specs()))
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from(places(plain)))
        if not path:
            continue
        holder = plain
        for key in path[:-1]:
            holder = holder[key]
        key = path[-1]
        what = draw(st.sampled_from(["replace", "drop", "rename", "add"]))
        if what == "replace":
            holder[key] = draw(ANYTHING)
        elif what == "drop":
            del holder[key]
        elif isinstance(holder, dict):
            new = draw(st.text(max_size=3) | st.sampled_from([*SPEC.fields, "low", "kind", "step"]))
            holder[new] = holder.pop(key) if what == "rename" else draw(ANYTHING)
    return plain


@examples(0.1)
@given(specs())
def test_valid_tables(plain: dict[str, Any]) -> None:
    assert not list(VALIDATOR.iter_errors(plain))
    spec = Spec.from_dict(plain)
    assert Spec.from_dict(spec.to_dict()) == spec
    assert not list(VALIDATOR.iter_errors(spec.to_dict()))
    np.testing.assert_array_equal(spec.state(spec.values(spec.start)), spec.start)


@examples(0.2)
@given(damaged())
def test_reader_and_schema_agree(plain: Any) -> None:
    before = copy.deepcopy(plain)
    parts, faults = parts_of(plain)
    assert plain == before
    refused = not VALIDATOR.is_valid(plain)
    assert any(fault.structural for fault in faults) == refused, [str(fault) for fault in faults]
    for fault in faults:
        assert str(fault).isprintable()
    if not faults:
        spec = Spec(**parts)
        assert Spec.from_dict(spec.to_dict()) == spec
        assert len(spec.fingerprint) == 64


# The doctor.

WEIGHTS = st.sampled_from([1e-6, 1, 1e6])
NORMS = st.sampled_from([1e-6, 1, 1e6])
RANGES = st.sampled_from([(-1e100, 1e100), (1e-100, 2e-100), (0, 1), (-1, 1e99)])


@examples(0.01)
@given(specs(), st.data())
def test_doctor_on_extreme_specs(plain: dict[str, Any], data: st.DataObject) -> None:
    for objective in plain["objectives"].values():
        low, high = data.draw(RANGES)
        share = data.draw(st.sampled_from([1.1e-6, 0.1, 900]))
        objective |= {"weight": data.draw(WEIGHTS), "norm": data.draw(NORMS)}
        objective |= {"low": low, "high": high, "noise": "estimate"}
        if share * (high - low) <= 1e100 and data.draw(st.booleans()):
            objective["noise"] = share * (high - low)
    for knob in plain["knobs"].values():
        knob["stability"] = {"move_cost": data.draw(st.sampled_from([0, 1e-9, 1e9]))}
    spec = Spec.from_dict(plain)
    with pytest.MonkeyPatch.context() as patch:  # a few rounds are enough
        shorten(patch)
        patch.setattr(simulation, "LEAST_ROUNDS", 2)
        patch.setattr(simulation, "ROUNDS", 2)
        patch.setattr(simulation, "STRATA", 2)
        patch.setattr(simulation, "WORK", 0.0)
        report = report_on(spec, "fuzz", horizon=data.draw(st.sampled_from([1, 1000, 10**15])))
    assert json.loads(json.dumps(report.to_dict()))["valid"] is report.valid
    if report.spec is None:  # the policy does not go with the problem, and says so
        assert "does not go with it" in report.checks[0].text
    assert diagram(spec)


# Rules.

TOKENS = st.sampled_from(
    [*"+-*/()<>=.", "<=", ">=", "y0", "a_1", "baseline", "1", "1e9", ".5", " "]
)


@examples(0.1)
@given(st.text() | st.lists(TOKENS, max_size=40).map(" ".join) | st.lists(TOKENS).map("".join))
def test_any_rule(rule: str) -> None:
    try:
        constraint = Constraint(rule=rule, kind="signal")
    except tt.InvalidInput:
        return
    values = dict.fromkeys(constraint.metrics, 2.0)
    assert constraint.holds(values, values) in (True, False, None)
    assert constraint.holds({}, {}) is None
