"""The copy of Adult inside the package, the script that makes it, and the scores."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from trimtab.errors import InvalidInput
from trimtab.paper import adult_data, scores
from trimtab.paper.scores import Classifier

CLASSIFIER = Classifier()
LINES = """|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, Male, 0, 0, 40, \
United-States, <=50K.

38, ?, 89814, HS-grad, 9, Married-civ-spouse, ?, Husband, White, Male, 0, 7, 50, ?, >50K.
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = Path(__file__).parents[2] / "scripts" / "build_adult.py"
    spec = importlib.util.spec_from_file_location("build_adult", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_copy_is_whole() -> None:
    with np.load(adult_data.FILE) as archive:
        assert adult_data.digest(dict(archive)) == adult_data.DIGEST
    adult = adult_data.load()
    # What the original documentation says: adult.names.
    assert (len(adult), int((~adult.test).sum())) == (48_842, 32_561)
    assert int((adult.known & ~adult.test).sum()) == 30_162
    assert round(float(adult.rich.mean()), 4) == 0.2393
    assert round(float(adult.rich[adult.known].mean()), 4) == 0.2478
    assert (adult.numbers["age"][0], adult.words["workclass"][0]) == (39, "State-gov")
    assert (adult.numbers["age"][32_561], adult.words["race"][32_561]) == (25, "Black")
    assert [name for name in adult_data.COLUMNS if name in adult.words] == list(adult_data.WORDS)


def test_a_damaged_copy_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with np.load(adult_data.FILE) as archive:
        arrays = dict(archive)
    arrays["age"] = arrays["age"].copy()
    arrays["age"][7] += 1
    file = tmp_path / "adult.npz"
    np.savez(file, allow_pickle=False, **arrays)
    monkeypatch.setattr(adult_data, "FILE", file)
    with pytest.raises(InvalidInput, match="is damaged"):
        adult_data.load.__wrapped__()
    file.write_bytes(b"no archive")
    with pytest.raises(InvalidInput, match="cannot be read"):
        adult_data.load.__wrapped__()


def test_lines_become_arrays(script: ModuleType) -> None:
    arrays = adult_data.encoded(script.rows(LINES))
    assert arrays["age"].tolist() == [25, 38]
    assert arrays["rich"].tolist() == [False, True]
    words = arrays["workclass.words"][arrays["workclass.codes"]]
    assert words.tolist() == ["Private", "?"]
    assert arrays["capital-loss"].tolist() == [0, 7]


def test_originals_are_checked(script: ModuleType, tmp_path: Path) -> None:
    for name in script.ORIGINALS:
        (tmp_path / name).write_text(LINES)
    with pytest.raises(SystemExit, match=r"adult\.data has the digest"):
        script.main(["--check", "--source", str(tmp_path)])


# Scores.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "trimtab"


def test_scores_are_kept_and_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = scores.scored.__wrapped__(CLASSIFIER)
    (file,) = folder.iterdir()
    assert np.load(file).tobytes() == fresh.tobytes()
    np.save(file, np.arange(48_842.0))
    assert scores.scored.__wrapped__(CLASSIFIER)[7] == 7.0  # from the file
    file.write_bytes(file.read_bytes()[:1000])
    again = scores.scored.__wrapped__(CLASSIFIER)  # not whole: trained anew
    assert again.tobytes() == fresh.tobytes() == np.load(file).tobytes()
    monkeypatch.setattr(scores, "version", lambda name: "0.0")
    assert scores._key(CLASSIFIER) not in file.name
    assert scores._key(Classifier(drop_unknown=True)) != scores._key(CLASSIFIER)


def test_a_folder_that_cannot_be_written_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr(scores, "trained", lambda adult, classifier: np.zeros(48_842))
    assert scores.scored.__wrapped__(CLASSIFIER).shape == (48_842,)


def test_a_relative_cache_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", os.sep + "home")
    assert scores.cache_folder() == Path("/home/.cache/trimtab")


def test_the_classifier_sees_the_training_split_only() -> None:
    adult = adult_data.load()
    mine = scores.scored(CLASSIFIER)
    turned = adult_data.Adult(
        numbers=adult.numbers, words=adult.words, rich=adult.rich ^ adult.test, test=adult.test
    )
    assert scores.trained(turned, CLASSIFIER).tobytes() == mine.tobytes()
    right = (mine >= 0.5) == adult.rich
    assert 0.850 < right[adult.test].mean() < 0.856  # as published for logistic regression
    other = scores.trained(adult, Classifier(drop_unknown=True))
    assert 0.0 < np.abs(other - mine).mean() < 0.02
