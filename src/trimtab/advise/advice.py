"""What `advise` says: plain data, and the same as text."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np

from trimtab.errors import InvalidInput
from trimtab.theory.variants import Bound

WIDTH = 96  # of the text form
HEADS = ("variant", "cost", "of staying", "+-", "movement", "looks", "bound")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One variant: what it cost on average in the worlds simulated, and what is proven of it.

    The cost is at the horizon asked for, everything else of the rounds played. What was not
    simulated is None.
    """

    name: str
    cost: float | None = None  # regret and price of movement together
    ratio: float | None = None  # cost over that of staying put in the same worlds
    error: float | None = None  # standard error of that ratio
    regret: float | None = None
    price: float | None = None  # of movement, at the problem's move_cost
    movement: float | None = None  # l1 length of the path
    looks: float | None = None
    bound: Bound | None = None  # where sigma and norm were given
    against: str = ""  # why it is not the one recommended
    times: float | None = None  # its cost over that of the one recommended, in the same worlds
    times_error: float | None = None  # standard error of that


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The variant recommended, what speaks for it, and what against the others.

    Its text form is the table of all variants, the reasons, and why not the others.
    """

    variant: str  # the policy's public name
    options: dict[str, Any]  # of its constructor, beside the problem (or its domain) and start
    reasons: tuple[str, ...]
    rows: tuple[Row, ...]
    worlds: int  # simulated
    rounds: int  # played in each

    def row(self, name: str) -> Row:
        """What is known of one variant."""
        for row in self.rows:
            if row.name == name:
                return row
        names = ", ".join(row.name for row in self.rows)
        raise InvalidInput(f"variant {name!r} was not considered; choose one of {names}")

    def __str__(self) -> str:
        lines = [HEADS, *(self._cells(row) for row in self.rows)]
        first, *others = (max(map(len, column)) for column in zip(*lines, strict=True))
        table = [
            line[0].ljust(first)
            + "".join(f"  {cell:>{width}}" for cell, width in zip(line[1:], others, strict=True))
            for line in lines
        ]
        why_not = [f"{row.name}: {row.against}" for row in self.rows if row.against]
        return "\n".join(
            (
                *table,
                f"Why {self.variant}",
                *map(_item, self.reasons),
                "Why not",
                *map(_item, why_not),
            )
        )

    def _cells(self, row: Row) -> tuple[str, ...]:
        bound = None if row.bound is None else row.bound.total
        return (
            ("* " if row.name == self.variant else "  ") + row.name,
            figure(row.cost),
            *("-" if x is None else f"{x:.3f}" for x in (row.ratio, row.error)),
            figure(row.movement),
            figure(row.looks),
            figure(bound),
        )


def sentence(text: str) -> str:
    """The text with a capital and a full stop.

    >>> sentence("moves are free")
    'Moves are free.'
    """
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _item(text: str) -> str:
    return fill(f"- {text}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def figure(value: float | None) -> str:
    """A number for people: three digits, or all of those before the point.

    >>> figure(1234567.8), figure(0.01234), figure(None)
    ('1,234,568', '0.0123', '-')
    """
    if value is None:
        return "-"
    return f"{value:,.0f}" if 100.0 <= abs(value) < np.inf else f"{value:.3g}"
