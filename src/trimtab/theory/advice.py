"""What `advise` says: plain data, and the same as text."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np

from trimtab.errors import InvalidInput
from trimtab.theory.variants import Row

WIDTH = 88  # of the text form
HEADS = ("variant", "regret", "movement", "price", "together", "looks", "holds")


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The variant recommended, what speaks for it, and what against the others.

    Its text form is the table of all bounds, the reasons, and why not the others.
    """

    variant: str  # the policy's public name
    options: dict[str, Any]  # of its constructor, beside the problem (or its domain) and start
    reasons: tuple[str, ...]
    rows: tuple[Row, ...]

    def row(self, name: str) -> Row:
        """What is known of one variant."""
        for row in self.rows:
            if row.name == name:
                return row
        names = ", ".join(row.name for row in self.rows)
        raise InvalidInput(f"variant {name!r} was not considered; choose one of {names}")

    def __str__(self) -> str:
        lines = [HEADS] + [
            (
                ("* " if row.name == self.variant else "  ") + row.name,
                *map(figure, (row.regret, row.movement, row.price, row.total, row.looks)),
                "yes" if row.guaranteed else "no",
            )
            for row in self.rows
        ]
        first, *others = (max(map(len, column)) for column in zip(*lines, strict=True))
        table = [
            line[0].ljust(first)
            + "".join(f"  {cell:>{width}}" for cell, width in zip(line[1:], others, strict=True))
            for line in lines
        ]
        why = [*self.reasons, f"Assumed: {self.row(self.variant).assumes}."]
        why_not = [f"{row.name}: {row.against}" for row in self.rows if row.against]
        return "\n".join(
            (*table, f"Why {self.variant}", *map(_item, why), "Why not", *map(_item, why_not))
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
