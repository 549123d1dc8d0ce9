"""The doors of the compiled core, src/core/module.cpp. Arrays are contiguous and never copied."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

class Regression:
    """Lazy ridge regressions over the arrays of a `Book`, which it keeps and writes to."""

    def __init__(self, arrays: Any) -> None: ...
    def begin(self, criteria: Ints) -> None:
        """V_i is what it starts at, b_i = 0."""

    def begin_again(self, criteria: Ints) -> None:
        """V_i starts at another place, and all data are added to it again."""

    def add_round(self, losses: Array) -> None:
        """One more round, seen by every criterion; losses beyond their limits are cut."""

    def add_rounds(self, losses: Array | Floats) -> None:
        """Several rounds, (n, m), where nothing is cut."""

    def add_some(self, losses: Array, count: Ints, common: int) -> None:
        """Losses with gaps (NaN) and batches."""

    def add_owed(
        self, criteria: Ints, mean: Array, squares: Array, common: int, skipped: int
    ) -> None:
        """Losses that were owed arrive: their mean, and their sum of squares about it."""

    def take_each(self, criteria: Ints, phi: Array, losses: Array, count: Ints) -> None:
        """Each criterion has seen a loss of its own at features phi."""

    def flush(self, criteria: Ints, common: int) -> None:
        """The sums of these criteria go into their factors, as one weighted datum each."""

    def flush_faded(self, criteria: Ints, common: int, rounds: int, memory: int) -> None:
        """The same where data lose 1/memory of their weight in a round."""

    def forget(self, criteria: Ints, common: int, skipped: int) -> None:
        """V_i is what it started at and b_i = 0 again, and nothing is in the sums."""

    def measure(self, criteria: Ints, factor: float) -> None:
        """The estimated loss, w_i and n*_i at the deployed state."""

    def predict(self, criteria: Ints, phi: Array) -> tuple[Array, Array]:
        """phi_i' theta_i and phi_i' V_i^{-1} phi_i at features phi."""

class TriggerQueue:
    """When each criterion is due, by due - n; the tree has two entries per 16 criteria."""

    def __init__(self, tree: Ints, due: Ints, n: Ints) -> None: ...
    def put(self, criteria: Ints) -> None:
        """The rounds of these criteria have changed."""

    def put_all(self) -> None:
        """Every round may have changed."""

    def due_by(self, now: int) -> Ints:
        """The criteria due at round `now` or before, ascending."""

    @property
    def next_round(self) -> int:
        """The first round at which a criterion is due."""

class Monomials:
    """Feature maps made of powers of one knob and products of two."""

    def __init__(self, arrays: Any) -> None: ...
    def fill(self, phi: Array, state: Array, criteria: Ints) -> None:
        """Write phi_i(state) into its slice of phi."""

class Fourier:
    """Feature maps made of waves."""

    def __init__(self, arrays: Any) -> None: ...
    def fill(self, phi: Array, state: Array, criteria: Ints) -> None:
        """Write phi_i(state) into its slice of phi."""

def rounds_to_trigger(spread: float, since: float, factor: float) -> int:
    """n*: the first n with since + log(1 + n spread) > log(factor), ties excepted."""

def add_data(R: Array, X: Array) -> None:
    """R R' + X' X takes the place of R R', for one packed triangle R."""

def whiten(R: Array, X: Array, U: Array) -> Array:
    """Write u = R^{-1} x of every row x to U; x' theta of each."""

def all_within(array: Array | Floats, limit: float) -> bool:
    """Whether every entry is a number no larger than the limit in size."""

def dot_each(criteria: Ints, phi: Array, theta: Array, offsets: Ints) -> Array:
    """phi_i' theta_i of each criterion."""

def labels(offsets: Ints, items: Ints, rows: Ints, free: Ints) -> Ints:
    """For each free item the smallest position it is linked to by rows that share items."""
