"""One wrong statement: as printed, its counterexample, and what is true instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["false", "gap in the proof", "undefined", "loose"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a counterexample gives: the number that the paper allows, and the one there is."""

    claimed: float
    found: float
    holds: bool  # whether the counterexample contradicts the statement, as it should
    text: str  # the numbers in words


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """A statement of the paper that does not hold. Texts have formulas between dollar signs."""

    key: str
    title: str
    place: str  # where it is in the paper
    kind: Kind
    printed: str
    example: str  # the smallest counterexample that we know
    corrected: str
    proof: str  # a sketch
    test: str  # of the corrected statement, in our suite
    run: Callable[[], Finding]
