"""Scores: what a logistic regression says of every row of Adult, kept for the next time."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from trimtab.arrays import Array, read_only
from trimtab.errors import NotFound
from trimtab.paper import adult_data
from trimtab.paper.adult_data import Adult

DECIMALS = 6  # of a score: the rest depends on the mathematics library


@dataclass(frozen=True, kw_only=True)
class Classifier:
    """A logistic regression on all columns: numbers standardised, words one-hot."""

    penalty: float = 1.0  # C of scikit-learn: the inverse of its ridge parameter
    drop_unknown: bool = False  # whether rows with an unknown entry are left out of the training


@cache
def scored(classifier: Classifier) -> Array:
    """The probability of a high income of all 48,842 people, by a model of the training split.

    They are read from the user's cache folder where they are there, and written to it where that
    is possible. The file's name holds a digest of data, settings and version of scikit-learn.
    """
    file = cache_folder() / f"adult-scores-{_key(classifier)}.npy"
    try:
        scores = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):  # not there, or not whole
        scores = np.empty(0)
    if scores.shape != (len(adult_data.load()),):
        scores = trained(adult_data.load(), classifier)
        _keep(file, scores)
    return read_only(scores)


def trained(adult: Adult, classifier: Classifier) -> Array:
    """The scores of all rows of `adult`, by a model of those that are not of the test split."""
    try:
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    except ImportError:
        raise NotFound(
            "scikit-learn is not installed, and the classifier needs it; "
            "pip install 'trimtab[paper]'"
        ) from None
    X = design(adult)
    rows = ~adult.test & (adult.known if classifier.drop_unknown else True)
    # Newton's method ends at the optimum itself, so that the digits kept do not depend on a
    # stopping rule.
    model = LogisticRegression(
        C=classifier.penalty, solver="newton-cholesky", tol=1e-10, max_iter=100
    )
    model.fit(X[rows], adult.rich[rows])
    return np.asarray(model.predict_proba(X)[:, 1].round(DECIMALS), np.float64)


def design(adult: Adult) -> Array:
    """The columns of the regression: (n, d), standardised by the training split."""
    training = ~adult.test
    parts = []
    for values in adult.numbers.values():
        known = values[training]
        parts.append(((values - known.mean()) / known.std())[:, None])
    for words in adult.words.values():
        parts.append(words[:, None] == np.unique(words[training]))
    return np.hstack(parts).astype(np.float64)


def cache_folder() -> Path:
    """Where files that can be made again are kept: `trimtab` in the user's cache folder."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The specification says that a relative path is to be ignored.
    return (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "trimtab"


def _key(classifier: Classifier) -> str:
    parts = (adult_data.DIGEST, repr(classifier), str(DECIMALS), _sklearn_version())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _sklearn_version() -> str:
    try:
        return version("scikit-learn")
    except PackageNotFoundError:
        return "none"


def _keep(file: Path, scores: Array) -> None:
    """Write the scores whole or not at all; a folder that cannot be written to costs only time."""
    draft = file.with_name(f".{file.name}.{os.getpid()}.draft")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as target:
            np.save(target, scores, allow_pickle=False)
        draft.replace(file)
    with suppress(OSError):  # it is there only if something went wrong
        draft.unlink()
