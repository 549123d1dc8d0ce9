"""A relative storage is beside the spec, wherever the tuner is started."""

from __future__ import annotations

from pathlib import Path

import pytest

import trimtab as tt
from tests.live.tuners import SPEC
from trimtab.errors import InvalidInput
from trimtab.live import Spec


def test_the_same_journal_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for folder in (home, elsewhere):
        folder.mkdir()
    (home / "shop.toml").write_text('storage = "sqlite:///shop.db"\n' + SPEC)
    monkeypatch.chdir(home)
    with tt.Tuner("shop.toml") as tuner:
        first = tuner.ask().id
    monkeypatch.chdir(elsewhere)
    with tt.Tuner("../home/shop.toml") as tuner:
        assert tuner.ask().id == first
        assert tuner.status().events == 2
    assert [*elsewhere.iterdir()] == []
    absolute = f"sqlite:///{elsewhere}/there.db"
    (home / "other.toml").write_text(f'storage = "{absolute}"\n' + SPEC)
    assert Spec.read(home / "other.toml").storage == absolute


def test_an_old_journal_in_the_working_directory_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "shop.toml").write_text('storage = "sqlite:///shop.db"\n' + SPEC)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.db").write_bytes(b"of before")
    with pytest.raises(InvalidInput, match=r"shop.db is there, of a time when paths were"):
        Spec.read("home/shop.toml")
    (tmp_path / "shop.db").rename(tmp_path / "home" / "shop.db")
    assert Spec.read("home/shop.toml").storage == f"sqlite:///{tmp_path}/home/shop.db"
