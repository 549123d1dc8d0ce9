"""Every number that Python has: accepted and applicable, or refused with nothing written."""

from __future__ import annotations

import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import trimtab as tt
from tests.fuzzing import examples
from tests.live.tuners import Clock, spec_with
from trimtab.errors import TrimtabError

EDGES = [5e-324, 1e-308, 1e-160, 1e-100, 1e99, 1e100, 1.1e100, 1e154, 1e300, 1.7976931348623157e308]
numbers = st.one_of(
    st.floats(),
    st.sampled_from([sign * x for x in EDGES for sign in (1, -1)]),
    st.floats(50, 250),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 2**63, 2**1024]),
    st.booleans(),
    st.decimals(),
    st.fractions(),
    st.text(max_size=4),
    st.none(),
    st.floats(50, 250).map(np.float32),
    st.floats(width=32).map(np.float32),
    st.floats().map(np.float64),
    st.integers(-(2**31), 2**31).map(np.int64),
    st.sampled_from(
        [np.bool_(True), np.array(100.0), np.array([100.0]), 1j, b"1", Fraction(10**400)]
    ),
)
measured = st.one_of(numbers, st.tuples(numbers, numbers), st.lists(numbers, max_size=3))
counted = st.one_of(st.just(1), st.integers(1, 10**9), numbers)


@pytest.fixture(scope="module")
def folder() -> Any:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@examples(0.02)
@given(
    st.dictionaries(st.sampled_from(["latency", "sales", "errors", "load"]), measured, min_size=1),
    counted,
)
@example({"latency": (100.0, 1e-160)}, 1)
@example({"errors": 1e300, "load": -1e300}, 10**9)
@example({"latency": (100.0, Decimal("1e-9"))}, 1)
@example({"errors": 1e100, "load": 1e100, "latency": (100.0, 1e-100)}, 10**9)
def test_a_tell_is_applicable_or_refused(folder: Path, metrics: dict[str, Any], count: Any) -> None:
    name = "m"
    spec = spec_with(name=name, baseline_observations=1)
    with tt.Tuner(spec, storage=str(folder / "a.db"), clock=Clock()) as tuner:
        decision = tuner.ask()
        before = tuner.status().events
        try:
            tuner.tell(decision.id, metrics, count=count)
        except TrimtabError:
            assert tuner.status().events == before
            tuner.tell(decision.id, {})
        assert np.isfinite(list(tuner.status().baselines.values())).all()
        assert tuner.ask().round == decision.round + 1
    with tt.Tuner(spec, storage=str(folder / "a.db"), clock=Clock(), read_only=True) as again:
        again.status()
