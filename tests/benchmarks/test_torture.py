"""The campaigns against the journal in their short form; `make torture` runs them in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.torture import flips, interrupts


def test_flipped_bits_and_swapped_pages() -> None:
    ends = flips.campaign(3, 320, 80, processes=1)
    assert sum(ends.values()) == 400
    assert {what.partition(": ")[2] for what in ends} == {"damaged", "harmless"}
    assert ends["flip: damaged"] > 100


@pytest.mark.slow
def test_interrupts_and_kills(tmp_path: Path) -> None:
    ends = interrupts.campaign(str(tmp_path / "a.db"), "5", interrupts=12, kills=2)
    assert ends["lost"] == ends["doubled"] == ends["differing"] == 0
    assert ends["interrupts"] == 12
    assert ends["acknowledged tells"] > 0
