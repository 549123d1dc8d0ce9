"""Adult: 48,842 people of the 1994 census of the United States, inside the package.

The copy in `data/adult.npz` holds every column of the original files. Whole numbers are stored
as they are, words as codes into a list; `scripts/build_adult.py` makes it from the originals.
Licence and source: `data/LICENCE.md`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trimtab.arrays import Bools, Ints, read_only
from trimtab.errors import InvalidInput

FILE = Path(__file__).parent / "data" / "adult.npz"
DIGEST = "3eb2b5be6fd864a920f5ec6d4e20f78fda57b714d615723629c41640e18bafff"
NUMBERS = (
    *("age", "fnlwgt", "education-num"),
    *("capital-gain", "capital-loss", "hours-per-week"),
)
WORDS = (
    *("workclass", "education", "marital-status", "occupation"),
    *("relationship", "race", "sex", "native-country"),
)
COLUMNS = (  # as the original files have them
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status"),
    *("occupation", "relationship", "race", "sex", "capital-gain", "capital-loss"),
    *("hours-per-week", "native-country", "income"),
)
UNKNOWN = "?"
TRAINING = 32_561  # rows of adult.data; those of adult.test follow
Words = npt.NDArray[np.str_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Adult:
    """Some rows of the data, column by column."""

    numbers: Mapping[str, Ints]  # (n,) each
    words: Mapping[str, Words]  # (n,) each; "?" where the original has it
    rich: Bools  # (n,) whether the income is over 50,000 dollars: the label
    test: Bools  # (n,) whether the row is of the official test split

    def __len__(self) -> int:
        return self.rich.size

    def take(self, rows: Bools) -> Adult:
        """The rows that are marked.

        >>> adult = load()
        >>> len(adult), len(adult.take(adult.test)), len(adult.take(adult.known))
        (48842, 16281, 45222)
        """
        return Adult(
            numbers={name: column[rows] for name, column in self.numbers.items()},
            words={name: column[rows] for name, column in self.words.items()},
            rich=self.rich[rows],
            test=self.test[rows],
        )

    @property
    def known(self) -> Bools:
        """Which rows have no unknown entry."""
        unknown = [column == UNKNOWN for column in self.words.values()]
        return np.asarray(~np.any(unknown, axis=0))


@cache
def load() -> Adult:
    """All rows, in the order of the original files.

    Raises:
        InvalidInput: the copy is missing or damaged.
    """
    try:
        with np.load(FILE, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{FILE} cannot be read ({error}); install trimtab again") from None
    found = digest(arrays)
    if found != DIGEST:
        raise InvalidInput(
            f"{FILE} is damaged: its content has the digest {found}, expected {DIGEST}; "
            "install trimtab again"
        )
    words = {name: read_only(arrays[f"{name}.words"][arrays[f"{name}.codes"]]) for name in WORDS}
    numbers = {name: read_only(arrays[name].astype(np.int64)) for name in NUMBERS}
    rich = read_only(arrays["rich"])
    return Adult(
        numbers=numbers, words=words, rich=rich, test=read_only(np.arange(rich.size) >= TRAINING)
    )


def encoded(rows: Iterable[list[str]]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of the file, from the fields of the original lines."""
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name in NUMBERS:
        values = np.array(columns[name], np.int64)
        arrays[name] = values.astype(np.min_scalar_type(int(values.max())))
    for name in WORDS:
        words, codes = np.unique(np.array(columns[name]), return_inverse=True)
        arrays[f"{name}.words"], arrays[f"{name}.codes"] = words, codes.astype(np.uint8)
    arrays["rich"] = np.array([income.startswith(">50K") for income in columns["income"]])
    return arrays


def digest(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """SHA-256 of names, types and contents, whatever they were compressed with."""
    whole = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        whole.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()
