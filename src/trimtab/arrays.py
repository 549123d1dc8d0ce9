"""The boundary: what comes in from outside becomes a checked array, or an error.

Everything below this module trusts its arrays. Each function here names the
argument, the offending index and value, and what to do instead. Arrays that
come back are the caller's own copies: the input is never aliased.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from trimtab.errors import InvalidInput

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
ArrayLike = npt.ArrayLike

MOST_ROUNDS = 1e15  # in one observation; sums of counts must stay exact
LARGEST_LOSS = 1e100  # squares of losses must stay finite


def floats(value: ArrayLike, name: str) -> Array:
    """The value as a new float64 array, whatever its shape."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return value.copy()  # the common case, kept free of the slower checks below
    try:
        raw = np.asarray(value)
        if raw.dtype.kind in "biuf":
            return raw.astype(np.float64)
    except ValueError:  # a ragged nested sequence
        raise InvalidInput(f"{name} is ragged; pass one number per entry") from None
    raise InvalidInput(f"{name} must hold real numbers, not {raw.dtype}; convert it first")


def vector(value: ArrayLike, size: int, name: str, item: str) -> Array:
    """A finite vector with one entry per `item`."""
    array = floats(value, name)
    if array.shape != (size,):
        raise InvalidInput(
            f"{name} has shape {array.shape}, expected ({size},); give one value per {item}"
        )
    refuse_where(~np.isfinite(array), array, name, "is not finite; every entry must be a number")
    return array


def per_item(
    value: ArrayLike, size: int, name: str, item: str, *, low: float, strict: bool
) -> Array:
    """One finite number per `item`, from a single number or a vector, above `low`."""
    array = floats(value, name)
    if array.ndim == 0:
        array = np.full(size, float(array))
    array = vector(array, size, name, item)
    bad, least = (array <= low, "greater than") if strict else (array < low, "at least")
    refuse_where(bad, array, name, f"must be {least} {low:g}")
    return array


def number(value: Any, name: str, *, low: float, strict: bool, high: float = np.inf) -> float:
    """A finite number above `low` and, where given, below `high`."""
    array = floats(value, name)
    if array.ndim != 0:
        raise InvalidInput(f"{name} has shape {array.shape}; give a single number")
    x = float(array)
    if not np.isfinite(x) or x < low or x >= high or (strict and x == low):
        sign = ">" if strict else ">="
        upper = f" and < {high:g}" if np.isfinite(high) else ""
        raise InvalidInput(f"{name} = {x:g}; it must be finite, {sign} {low:g}{upper}")
    return x


def whole(value: Any, name: str, *, low: int) -> int:
    """A whole number, at least `low`."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        n = int(value)  # exact, however large
    else:
        array = floats(value, name)
        if array.ndim != 0 or not np.isfinite(array) or float(array) != np.floor(array):
            raise InvalidInput(f"{name} = {value!r}; give a whole number")
        n = int(array)
    if n < low:
        raise InvalidInput(f"{name} = {n}; it must be at least {low}")
    return n


def losses(value: ArrayLike, size: int) -> tuple[Array, bool]:
    """One loss per criterion, NaN where none was observed, and whether none is missing.

    They are read at once, so they are not copied.
    """
    if isinstance(value, np.ma.MaskedArray):
        value = np.where(np.ma.getmaskarray(value), np.nan, floats(value.data, "losses"))
    array = value if isinstance(value, np.ndarray) else floats(value, "losses")
    if array.dtype != np.float64:
        array = floats(array, "losses")
    if array.shape != (size,):
        raise InvalidInput(
            f"losses has shape {array.shape}, expected ({size},); give one loss per criterion, "
            "NaN where none was observed"
        )
    array = np.ascontiguousarray(array)
    if _all_within(array, LARGEST_LOSS):
        return array, True
    refuse_where(
        np.abs(array) > LARGEST_LOSS,
        array,
        "losses",
        "is infinite or absurdly large; rescale it, or use NaN if it is missing",
    )
    return array, False


def _all_within(array: Array, limit: float) -> bool:
    """Whether every entry is a number no larger than this in size; nothing is copied."""
    return -limit <= float(array.min(initial=0.0)) and float(array.max(initial=0.0)) <= limit


def rows_of_losses(value: ArrayLike, size: int) -> tuple[Array, bool]:
    """Rounds of losses, one row each, and whether none is missing; float32 is left as it is."""
    array = np.asarray(value) if isinstance(value, np.ndarray) else floats(value, "losses")
    if array.dtype not in (np.float32, np.float64):
        array = floats(array, "losses")
    if array.ndim != 2 or array.shape[1] != size or array.shape[0] == 0:
        raise InvalidInput(
            f"losses has shape {array.shape}, expected (rounds, {size}); give one row per round, "
            "with one loss per criterion"
        )
    array = np.ascontiguousarray(array)
    if _all_within(array, LARGEST_LOSS):
        return array, True
    beyond = np.abs(array.astype(np.float64)) > LARGEST_LOSS
    if beyond.any():
        r, i = (int(n) for n in np.argwhere(beyond)[0])
        raise InvalidInput(
            f"losses[{r}, {i}] = {array[r, i]:.12g} is infinite or absurdly large; rescale it, or "
            "use NaN if it is missing"
        )
    return array, False


def counts(
    value: ArrayLike, size: int, name: str = "count", *, losses: Array | None = None
) -> Ints:
    """One whole number of rounds per criterion, at least 1; 0 will do where the loss is NaN."""
    if isinstance(value, int) and 1 <= value <= MOST_ROUNDS:
        return np.full(size, value, np.int64)  # this and the next are common: no slower checks
    if (
        isinstance(value, np.ndarray)
        and value.dtype == np.int64
        and value.shape == (size,)
        and 1 <= value.min() <= value.max() <= MOST_ROUNDS
    ):
        return value.copy()
    low = 1.0 if losses is None else 0.0
    array = per_item(value, size, name, "criterion", low=low, strict=False)
    if losses is not None:
        refuse_where((array < 1.0) & ~np.isnan(losses), array, name, "is below 1; count the rounds")
    refuse_where(array != np.floor(array), array, name, "is not whole; it counts rounds")
    refuse_where(array > MOST_ROUNDS, array, name, f"is above {MOST_ROUNDS:g}; tell it in parts")
    return array.astype(np.int64)


def refuse(bad: Bools, message: Callable[[int], str]) -> None:
    """Raise for the first entry marked bad, with the message for its index."""
    if bad.any():
        raise InvalidInput(message(int(np.argmax(bad))))


def refuse_where(bad: Bools, array: Array, name: str, problem: str) -> None:
    """Raise for the first entry marked bad, by index and value."""
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidInput(f"{name}[{i}] = {array[i]:.12g} {problem}")


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array, closed for writing."""
    array.flags.writeable = False
    return array


NOBODY: Ints = read_only(np.empty(0, np.int64))  # no criteria
