"""Whether a published number is reproduced, by one rule for all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import fmean, stdev
from typing import Literal, Protocol

from trimtab.errors import InvalidInput
from trimtab.paper.experiment import Comparison, Measured, Published, Result, Setting
from trimtab.plot.page import shown

LEVEL = 0.95
RULE = (
    "A published number holds in a setting if it is, up to the rounding of its last printed place, "
    "inside the 95 % interval for the mean of as many new runs as the paper averaged, computed "
    "from our runs in that setting (Student's t). Numbers of one group, such as the column of a "
    "table, must hold together in one setting, and their intervals are widened so that all of "
    "them cover with 95 % (Bonferroni). A number reproduces if it holds in a setting that "
    "contradicts nothing in the paper; it holds under other settings if only in one that does; "
    "otherwise it does not reproduce."
)
Kind = Literal["reproduces", "under other settings", "does not"]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """What we got in one setting, and where a mean of new runs would lie."""

    setting: str
    runs: int
    mean: float
    sd: float  # of one run
    low: float
    high: float
    holds: bool  # whether the published number is inside

    def __str__(self) -> str:
        return f"{shown(self.mean)} [{shown(self.low)}, {shown(self.high)}]"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer to one comparison, and why."""

    kind: Kind
    why: str
    decisive: Interval  # of the setting in which it holds, or is nearest to it
    intervals: tuple[Interval, ...]  # one per setting, in the order they were measured


class Judged(Result, Protocol):
    """A result with its verdicts, which are reached once."""

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdict on every published number, by its name."""
        return verdicts(self.comparisons, self.settings)

    @property
    def conclusion(self) -> str:
        """What came of the published numbers, in one sentence."""
        kinds = [verdict.kind for verdict in self.verdicts.values()]
        counts = {kind: kinds.count(kind) for kind in ("reproduces", "under other settings")}
        none = len(kinds) - sum(counts.values())
        return (
            f"Of {len(kinds)} published numbers {counts['reproduces']} reproduce, "
            f"{counts['under other settings']} hold only under settings that the paper does not "
            f"state, and {none} do not reproduce."
        )

    @cached_property
    def together(self) -> list[str]:
        """The settings in which all numbers that the paper prints hold at once."""
        return together(self.comparisons, self.settings)


def interval(published: Published, measured: Measured, *, level: float = LEVEL) -> Interval:
    """Where the mean of as many new runs as the paper's would lie, with probability `level`.

    Of n runs with mean x and standard deviation d: x -+ t d sqrt(1/n + 1/runs), t the quantile
    of Student's distribution with n - 1 degrees of freedom.
    """
    from scipy.stats import t

    n = len(measured.values)
    if n < 2:
        raise InvalidInput(
            f"{published.name} in {measured.setting!r} has {n} runs; an interval needs two"
        )
    mean, sd = fmean(measured.values), stdev(measured.values)
    reach = float(t.ppf(0.5 + level / 2, n - 1)) * sd * math.sqrt(1 / n + 1 / published.runs)
    low, high = mean - reach, mean + reach
    near = published.rounding + 1e-9 * (1.0 + abs(published.value))
    return Interval(
        setting=measured.setting,
        runs=n,
        mean=mean,
        sd=sd,
        low=low,
        high=high,
        holds=low - near <= published.value <= high + near,
    )


def verdicts(comparisons: Sequence[Comparison], settings: Sequence[Setting]) -> dict[str, Verdict]:
    """The verdict on every published number of an experiment, by its name."""
    intervals = _intervals(comparisons)
    stated = {setting.name for setting in settings if setting.stated}
    found = {}
    for comparison in comparisons:
        published = comparison.published
        peers = [each.published for each in comparisons if _peers(each.published, published)]
        own = intervals[published.name]
        held = [each for each in own if _held(each.setting, peers, intervals)]
        as_stated = [each for each in own if each.setting in stated]
        miss = partial(_miss, published=published, peers=peers, intervals=intervals)
        nearest, nearest_stated = min(own, key=miss), min(as_stated, key=miss, default=None)
        held.sort(key=lambda each: each not in as_stated)
        reproduced = bool(held) and held[0] in as_stated
        kind: Kind = "under other settings" if held else "does not"
        found[published.name] = Verdict(
            kind="reproduces" if reproduced else kind,
            why=_why(
                published,
                len(peers) - 1,
                own,
                held,
                nearest,
                None if reproduced else nearest_stated,
            ),
            decisive=held[0] if held else nearest,
            intervals=own,
        )
    return found


def together(comparisons: Sequence[Comparison], settings: Sequence[Setting]) -> list[str]:
    """The settings in which every number that the paper prints as one holds at the same time."""
    intervals = _intervals(comparisons)
    printed = [each.published for each in comparisons if not each.published.claim]
    return [each.name for each in settings if printed and _held(each.name, printed, intervals)]


def _intervals(comparisons: Sequence[Comparison]) -> dict[str, tuple[Interval, ...]]:
    """By the name of the number: its interval in every setting, at the level of its group."""
    found = {}
    for each in comparisons:
        size = sum(_peers(other.published, each.published) for other in comparisons)
        level = 1.0 - (1.0 - LEVEL) / size
        found[each.published.name] = tuple(
            interval(each.published, measured, level=level) for measured in each.measured
        )
    return found


def _peers(one: Published, other: Published) -> bool:
    return one.name == other.name or bool(one.group and one.group == other.group)


def _held(
    setting: str, numbers: Sequence[Published], intervals: Mapping[str, tuple[Interval, ...]]
) -> bool:
    """Whether all these numbers hold in the setting."""
    return all(
        any(each.holds and each.setting == setting for each in intervals[number.name])
        for number in numbers
    )


def _why(
    published: Published,
    peers: int,
    own: Sequence[Interval],
    held: Sequence[Interval],
    nearest: Interval,
    nearest_stated: Interval | None,
) -> str:
    """The verdict in words; with `nearest_stated`, no setting that agrees with the text holds."""
    group = "" if not peers else " with the rest of its group"
    inside = f"Inside{group} in {'; '.join(each.setting for each in held)}"
    tried = f"{len(held)} of {len(own)} settings"
    if not held:
        if any(each.holds for each in own):
            alone = "; ".join(each.setting for each in own if each.holds)
            return f"Inside by itself in {alone}, but in none of {len(own)} settings{group}."
        return f"Outside in all {len(own)} settings: {_beside(published, nearest)}, the nearest."
    if nearest_stated is None:
        return f"{inside}: {tried}."
    if nearest_stated.holds:
        missed = f"inside by itself in {nearest_stated.setting}, but not{group}"
    else:
        missed = f"{_beside(published, nearest_stated)}, the nearest"
    return f"Where settings agree with the text, {missed}. {inside}: {tried}."


def _miss(
    found: Interval,
    published: Published,
    peers: Sequence[Published],
    intervals: Mapping[str, tuple[Interval, ...]],
) -> tuple[int, float]:
    """How far a setting is from holding: how many of the group do not hold, then by how much."""
    missing = sum(not _held(found.setting, [peer], intervals) for peer in peers)
    return missing, max(found.low - published.value, published.value - found.high, 0.0)


def _beside(published: Published, found: Interval) -> str:
    side = "above" if published.value > found.high else "below"
    return f"{side} {found} in {found.setting}"
