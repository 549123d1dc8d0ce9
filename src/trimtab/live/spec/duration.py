"""Stretches of time, as people write them: "30s", "5m", "1h", "2d", or a number of rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MOST = 999_999  # of any unit
PATTERN = r"[1-9][0-9]{0,5}[smhd]"


@dataclass(frozen=True)
class Duration:
    """A stretch of time, or a number of rounds; never empty.

    >>> Duration.of("5m").seconds, Duration.of(3).seconds, str(Duration.of(3))
    (300, None, '3 rounds')
    """

    amount: int
    unit: Literal["s", "m", "h", "d", "rounds"]

    @classmethod
    def of(cls, plain: str | int) -> Duration:
        """The duration that a spec writes as "5m" or 3; the reader has checked it."""
        if isinstance(plain, int):
            return cls(plain, "rounds")
        units: dict[str, Literal["s", "m", "h", "d"]] = {"s": "s", "m": "m", "h": "h", "d": "d"}
        return cls(int(plain[:-1]), units[plain[-1]])

    @property
    def seconds(self) -> int | None:
        """Its length in seconds; None if it counts rounds."""
        return None if self.unit == "rounds" else self.amount * SECONDS[self.unit]

    @property
    def plain(self) -> str | int:
        """As a spec writes it."""
        return self.amount if self.unit == "rounds" else f"{self.amount}{self.unit}"

    def __str__(self) -> str:
        if self.unit == "rounds":
            return "1 round" if self.amount == 1 else f"{self.amount:,} rounds"
        return f"{self.amount}{self.unit}"
