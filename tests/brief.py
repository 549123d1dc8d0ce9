"""A doctor that simulates little, for tests of what it says; `tests/advise` tests its figures."""

from __future__ import annotations

from functools import partial

import pytest

from trimtab.advise import doctor, simulation
from trimtab.advise.rehearsal import rehearse


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rounds in few worlds."""
    shorten(monkeypatch)


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Have the doctor simulate few rounds in few worlds."""
    patch.setattr(simulation, "WORK", 0.1)
    patch.setattr(simulation, "STRATA", 2)
    patch.setattr(simulation, "ROUNDS", 20)
    patch.setattr(simulation, "LEAST_ROUNDS", 5)
    patch.setattr(doctor, "rehearse", partial(rehearse, worlds=1, rounds=12))
