"""Constraints: the grammar, its arithmetic and what cannot be judged."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import inf, isfinite, nan
from types import FrameType
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import trimtab as tt
from trimtab.live import Constraint

METRICS = {"a": 2.0, "b": -3.0, "c_1": 0.5}


def holds(rule: str, metrics: dict[str, Any], baselines: dict[str, Any]) -> bool | None:
    return Constraint(rule=rule, kind="signal").holds(metrics, baselines)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("a <= 2", True),
        ("a < 2", False),
        ("a >= 2", True),
        ("a > 2", False),
        ("a - 1 - 1 <= 0", True),  # from left to right
        ("8 / a / 2 <= 2", True),
        ("a + 2 * 3 < 9", True),  # products first
        ("(a + 2) * 3 < 9", False),
        ("-a < b + 2", True),
        ("- - a >= a", True),
        ("a * -1 >= b", True),
        ("+a>=.5e1", False),
        ("1. <= a", True),
        ("c_1*2e0 >= 1E-0", True),
    ],
)
def test_arithmetic(rule: str, expected: bool) -> None:
    assert holds(rule, METRICS, {}) is expected


def test_baseline_is_that_of_the_metric_on_the_left() -> None:
    rule = Constraint(rule="a <= 1.05 * baseline + b", kind="guardrail")
    assert (rule.metrics, rule.baselines) == (("a", "b"), ("a",))
    assert rule.holds({"a": 105, "b": 0}, {"a": 100, "b": 999}) is True
    assert rule.holds({"a": 105.1, "b": 0}, {"a": 100, "b": 999}) is False
    assert rule.sides({"a": 105, "b": 1}, {"a": 100}) == (105, 106)
    assert holds("a - baseline <= 5", {"a": 104}, {"a": 100}) is True


@pytest.mark.parametrize(
    ("metrics", "baselines"),
    [
        ({}, {"a": 1.0}),
        ({"a": None}, {"a": 1.0}),
        ({"a": nan}, {"a": 1.0}),
        ({"a": 1.0}, {}),
        ({"a": 1.0}, {"a": nan}),
        ({"a": 1.0}, {"a": 0.0}),
        ({"a": 1.0}, {"a": -0.0}),
        ({"a": inf}, {"a": inf}),
    ],
)
def test_what_cannot_be_judged(metrics: dict[str, Any], baselines: dict[str, Any]) -> None:
    assert holds("a / baseline <= 2", metrics, baselines) is None


def test_an_infinite_metric_breaks_a_rule() -> None:
    assert holds("a <= 2 * baseline", {"a": inf}, {"a": 1.0}) is False


@pytest.mark.parametrize("value", ["1", True, [1.0], 10**400])
def test_a_metric_that_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(tt.InvalidInput, match="a is"):
        holds("a <= 2", {"a": value}, {})


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("", "it ends where a number, a name or ( should follow"),
        ("a", "it ends where <=, <, >= or > should follow"),
        ("a <=", "it ends where a number, a name or ("),
        ("a = 2", "'= 2' is neither a number, nor a name, nor a sign"),
        ("a == 2", "'== 2' is neither"),
        ("a <= 2 <= 3", "nothing can follow the right side; remove '<= 3'"),
        ("a <= 2 b", "nothing can follow the right side; remove 'b'"),
        ("a ** 2 <= 3", "'* 2 <= 3' stands where a number, a name or ("),
        ("(a <= 2", "'<= 2' stands where ) should follow"),
        ("a) <= 2", "') <= 2' stands where <=, <, >= or > should"),
        ("f(a) <= 2", "'( a ) <= 2' stands where"),
        ("a.b <= 2", "'.b <= 2' is neither"),
        ("__import__('os') <= 2", "\"'os') <= 2\" is neither"),
        ("1 <= 2", "it names no metric"),
        ("baseline <= 2", "it names no metric"),
        ("2 <= baseline + a", "on the left, where no metric stand"),
        ("a + b <= baseline", "where 2 metrics (a, b) stand"),
        ("a <= 1 / 0", "one side is no finite number"),
        ("a <= 1 / (2 - 2)", "one side is no finite number"),
        ("a <= 1e999", "1e999 is too large"),
        ("(" * 31 + "a" + ")" * 31 + " <= 1", "more than 30 brackets"),
        ("-" * 31 + "a <= 1", "more than 30 brackets or signs"),
        ("a <= " + "1 + " * 200 + "1", "it has 806 characters; 500 is the most"),
    ],
)
def test_what_is_no_rule(rule: str, message: str) -> None:
    with pytest.raises(tt.InvalidInput) as raised:
        Constraint(rule=rule, kind="signal")
    assert message in str(raised.value)


def test_a_long_flat_rule_is_fine() -> None:
    rule = "a <= " + "1+" * 200 + "1"
    assert holds(rule, {"a": 201}, {}) is True
    assert holds(rule, {"a": 201.5}, {}) is False


# A second route: trees, computed as they are built, and written out with all their brackets.

Tree = tuple[str, Callable[[], float]]


def number(x: float) -> Tree:
    return repr(x), lambda: x


def metric(name: str) -> Tree:
    return name, lambda: METRICS[name]


def negated(tree: Tree) -> Tree:
    text, value = tree
    return f"-({text})", lambda: 0.0 - value()


def joined(parts: tuple[Tree, str, Tree]) -> Tree:
    (left, a), sign, (right, b) = parts

    def value() -> float:
        if sign == "/":
            return a() / b() if b() != 0.0 else nan
        return a() + b() if sign == "+" else a() - b() if sign == "-" else a() * b()

    return f"({left}) {sign} ({right})", value


LEAVES = st.floats(0.0, 1e3).map(number) | st.sampled_from(sorted(METRICS)).map(metric)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(joined) | inner.map(negated),
    max_leaves=8,
)


@given(TREES)
def test_arithmetic_is_that_of_floats(tree: Tree) -> None:
    text, value = tree
    assume(len(text) < 400 and isfinite(value()))
    rule = Constraint(rule=f"a > {text}", kind="signal")
    assert rule.sides(METRICS, {}) == (2.0, value())
    assert rule.holds(METRICS, {}) is (value() < 2.0)


def test_what_a_rule_reads_has_one_name_whatever_was_interrupted() -> None:
    rule = Constraint(rule="errors <= 2 * baseline", kind="guardrail")
    name = rule.watched
    for line in range(200):
        left = line

        def interrupt(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal left
            left -= event == "line"
            if left < 0:
                raise KeyboardInterrupt
            return interrupt

        sys.settrace(interrupt)
        try:
            _ = rule.watched
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        assert rule.watched == name
