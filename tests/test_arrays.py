"""The boundary: what is let in, as whose copy, and how each refusal reads."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import arrays
from trimtab.arrays import LARGEST_LOSS, MOST_ROUNDS
from trimtab.errors import InvalidInput

NAN, INF = float("nan"), float("inf")


def refused(message: str) -> Any:
    return pytest.raises(InvalidInput, match=f"^{re.escape(message)}$")


# floats and vector


@pytest.mark.parametrize(
    "value",
    [
        [1, 0, 3],
        (1.0, 0.0, 3.0),
        np.array([1, 0, 3], np.int8),
        np.array([1, 0, 3], np.uint64),
        np.array([1, 0, 3], np.float32),
        np.array([1, 0, 3], ">f8"),
        np.array([1, 9, 0, 9, 3], np.float64)[::2],
    ],
)
def test_real_numbers_of_any_kind_become_native_float64(value: Any) -> None:
    array = arrays.vector(value, 3, "x", "knob")
    assert array.dtype == np.float64
    assert array.dtype.isnative
    assert array.tolist() == [1.0, 0.0, 3.0]


def test_floats_keeps_the_shape_and_takes_truth_values_as_0_and_1() -> None:
    assert arrays.floats(2, "x").shape == ()
    assert arrays.floats(np.ones((2, 3)), "x").shape == (2, 3)
    assert arrays.floats([True, False], "x").tolist() == [1.0, 0.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_arrays_that_come_back_are_the_callers_own(dtype: type) -> None:
    given_: Any = np.array([1, 2, 3], dtype)
    for array in (
        arrays.floats(given_, "x"),
        arrays.vector(given_, 3, "x", "knob"),
        arrays.per_item(given_, 3, "x", "knob", low=0.0, strict=True),
        arrays.counts(given_, 3),
    ):
        assert not np.shares_memory(array, given_)
        array[:] = 99
    assert given_.tolist() == [1, 2, 3]


def test_a_single_number_is_spread_and_writable() -> None:
    array = arrays.per_item(0.5, 3, "x", "knob", low=0.0, strict=True)
    array[1] = 7.0
    assert array.tolist() == [0.5, 7.0, 0.5]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (["1.0"], "<U3"),
        ([1j], "complex128"),
        ([None], "object"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64[D]"),
        ({"a": 1.0}, "object"),
    ],
)
def test_what_is_not_real_is_refused_by_its_type(value: Any, kind: str) -> None:
    message = f"x must hold real numbers, not {kind}; convert it first"
    for call in (
        lambda: arrays.floats(value, "x"),
        lambda: arrays.vector(value, 1, "x", "knob"),
        lambda: arrays.per_item(value, 1, "x", "knob", low=0.0, strict=False),
        lambda: arrays.number(value, "x", low=0.0, strict=False),
        lambda: arrays.whole(value, "x", low=0),
        lambda: arrays.counts(value, 1, "x"),
    ):
        with refused(message):
            call()


def test_ragged_sequences_are_refused_by_name() -> None:
    with refused("state is ragged; pass one number per entry"):
        arrays.vector([[1.0], [1.0, 2.0]], 2, "state", "knob")


@pytest.mark.parametrize("value", [[1.0], [1.0, 2.0, 3.0], 1.0, [[1.0, 2.0]], []])
def test_vector_refuses_another_shape(value: Any) -> None:
    shape = np.shape(value)
    with refused(f"state has shape {shape}, expected (2,); give one value per knob"):
        arrays.vector(value, 2, "state", "knob")


@pytest.mark.parametrize(("bad", "printed"), [(NAN, "nan"), (INF, "inf"), (-INF, "-inf")])
def test_vector_names_the_first_entry_that_is_not_finite(bad: float, printed: str) -> None:
    with refused(f"state[1] = {printed} is not finite; every entry must be a number"):
        arrays.vector([0.0, bad, bad], 3, "state", "knob")


# per_item and number


@pytest.mark.parametrize(
    ("strict", "value", "message"),
    [
        (True, [1.0, 0.25], "weights[1] = 0.25 must be greater than 0.25"),
        (True, 0.0, "weights[0] = 0 must be greater than 0.25"),
        (False, [0.25, 0.125], "weights[1] = 0.125 must be at least 0.25"),
        (False, [NAN, 1.0], "weights[0] = nan is not finite; every entry must be a number"),
        (False, INF, "weights[0] = inf is not finite; every entry must be a number"),
        (False, [1.0], "weights has shape (1,), expected (2,); give one value per criterion"),
    ],
)
def test_per_item_refuses(strict: bool, value: Any, message: str) -> None:
    with refused(message):
        arrays.per_item(value, 2, "weights", "criterion", low=0.25, strict=strict)


def test_per_item_admits_its_bound_only_when_not_strict() -> None:
    assert arrays.per_item(0.25, 2, "x", "knob", low=0.25, strict=False).tolist() == [0.25, 0.25]
    assert arrays.per_item(0.26, 1, "x", "knob", low=0.25, strict=True).tolist() == [0.26]


@pytest.mark.parametrize(
    ("value", "strict", "high", "message"),
    [
        (0.0, True, INF, "delta = 0; it must be finite, > 0"),
        (-0.5, False, INF, "delta = -0.5; it must be finite, >= 0"),
        (NAN, False, INF, "delta = nan; it must be finite, >= 0"),
        (INF, False, INF, "delta = inf; it must be finite, >= 0"),
        (1.0, True, 1.0, "delta = 1; it must be finite, > 0 and < 1"),
        (1.5, False, 1.0, "delta = 1.5; it must be finite, >= 0 and < 1"),
        ([0.5], True, 1.0, "delta has shape (1,); give a single number"),
    ],
)
def test_number_refuses(value: Any, strict: bool, high: float, message: str) -> None:
    with refused(message):
        arrays.number(value, "delta", low=0.0, strict=strict, high=high)


def test_number_admits_what_lies_between() -> None:
    assert arrays.number(0, "x", low=0.0, strict=False) == 0.0
    assert arrays.number(np.float32(0.5), "x", low=0.0, strict=True, high=1.0) == 0.5
    assert isinstance(arrays.number(np.array(3), "x", low=0.0, strict=True), float)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.5, "k = 1.5; give a whole number"),
        (NAN, "k = nan; give a whole number"),
        (INF, "k = inf; give a whole number"),
        ([3], "k = [3]; give a whole number"),
        (1, "k = 1; it must be at least 2"),
        (-7, "k = -7; it must be at least 2"),
    ],
)
def test_whole_refuses(value: Any, message: str) -> None:
    with refused(message):
        arrays.whole(value, "k", low=2)


@pytest.mark.parametrize("value", [2, 2.0, np.int32(2), np.array(2.0)])
def test_whole_gives_an_int(value: Any) -> None:
    n = arrays.whole(value, "k", low=2)
    assert (n, type(n)) == (2, int)


# losses


def test_losses_may_be_missing_and_the_caller_learns_whether_any_is() -> None:
    array, complete = arrays.losses([1, -2.5, 0], 3)
    assert (array.tolist(), complete) == ([1.0, -2.5, 0.0], True)
    assert array.dtype == np.float64
    for missing in ([NAN, 1.0, 2.0], [0.0, 1.0, NAN], [NAN] * 3):
        array, complete = arrays.losses(missing, 3)
        assert np.array_equal(array, missing, equal_nan=True)
        assert not complete


@given(st.lists(st.floats(-LARGEST_LOSS, LARGEST_LOSS) | st.just(NAN), min_size=1, max_size=20))
def test_every_finite_or_missing_loss_up_to_the_limit_is_let_in(values: list[float]) -> None:
    array, complete = arrays.losses(values, len(values))
    assert np.array_equal(array, values, equal_nan=True)
    assert complete == (not np.isnan(values).any())


@pytest.mark.parametrize(
    ("bad", "printed"),
    [(INF, "inf"), (-INF, "-inf"), (1.01e100, "1.01e+100"), (-2e100, "-2e+100")],
)
@pytest.mark.parametrize("at", range(3))
def test_losses_refuses_infinity_and_what_would_overflow(bad: float, printed: str, at: int) -> None:
    values = np.array([NAN, 1.0, NAN])
    values[at] = bad
    with refused(
        f"losses[{at}] = {printed} is infinite or absurdly large; "
        "rescale it, or use NaN if it is missing"
    ):
        arrays.losses(values, 3)


@pytest.mark.parametrize("value", [1.0, [1.0, 2.0], [[1.0, 2.0, 3.0]], np.ones((3, 1)), []])
def test_losses_refuses_another_shape(value: Any) -> None:
    with refused(
        f"losses has shape {np.shape(value)}, expected (3,); "
        "give one loss per criterion, NaN where none was observed"
    ):
        arrays.losses(value, 3)


def test_losses_refuses_none_and_text() -> None:
    with refused("losses must hold real numbers, not object; convert it first"):
        arrays.losses([1.0, None], 2)  # type: ignore[arg-type]
    with refused("losses must hold real numbers, not <U3; convert it first"):
        arrays.losses(["1.0"], 1)


def test_losses_refuses_a_ragged_sequence() -> None:
    with refused("losses is ragged; pass one number per entry"):
        arrays.losses([[1.0], [1.0, 2.0]], 2)


def test_losses_leaves_its_input_alone() -> None:
    given_ = np.array([1.0, NAN])
    given_.flags.writeable = False
    arrays.losses(given_, 2)
    strided = np.array([1.0, INF, 2.0])[::2]
    assert arrays.losses(strided, 2)[0].tolist() == [1.0, 2.0]


# counts


@pytest.mark.parametrize("value", [3, 3.0, [3, 3], np.array([3, 3], np.uint8)])
def test_counts_are_whole_numbers_per_criterion(value: Any) -> None:
    count = arrays.counts(value, 2)
    assert count.dtype == np.int64
    assert count.tolist() == [3, 3]


def test_counts_up_to_the_limit_are_exact() -> None:
    assert arrays.counts(int(MOST_ROUNDS), 1).tolist() == [10**15]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 0], "count[1] = 0 must be at least 1"),
        (0, "count[0] = 0 must be at least 1"),
        ([-3, 1], "count[0] = -3 must be at least 1"),
        ([1, 0.5], "count[1] = 0.5 must be at least 1"),
        ([1, 2.5], "count[1] = 2.5 is not whole; it counts rounds"),
        ([1, NAN], "count[1] = nan is not finite; every entry must be a number"),
        ([INF, 1], "count[0] = inf is not finite; every entry must be a number"),
        ([1, 2e15], "count[1] = 2e+15 is above 1e+15; tell it in parts"),
        ([1, 2, 3], "count has shape (3,), expected (2,); give one value per criterion"),
    ],
)
def test_counts_refuses(value: Any, message: str) -> None:
    with refused(message):
        arrays.counts(value, 2)


# refusing and closing


def test_refuse_where_names_the_first_bad_entry_and_passes_good_ones() -> None:
    array = np.array([1.0, 2.5, 3.5])
    with refused("x[1] = 2.5 is no good"):
        arrays.refuse_where(array > 2, array, "x", "is no good")
    arrays.refuse_where(array > 9, array, "x", "is no good")


def test_a_refusal_shows_a_value_that_explains_it() -> None:
    with refused("count[0] = 1.000000001 is not whole; it counts rounds"):
        arrays.counts(1 + 1e-9, 1)


def test_read_only_closes_the_array_itself() -> None:
    array = np.zeros(2)
    assert arrays.read_only(array) is array
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0
