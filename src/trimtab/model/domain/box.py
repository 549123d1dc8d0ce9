"""Intervals and levels.

`Box` is what a user writes, before anybody has said how many knobs there are;
`bind` makes it a `BoundBox` with the knobs of a problem, and everything below a problem
sees only that: checked arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from trimtab.arrays import (
    Array,
    ArrayLike,
    Ints,
    floats,
    per_item,
    read_only,
    refuse,
    vector,
    whole,
)
from trimtab.errors import InvalidInput

SAME_LEVEL = 1e-12  # values this close are one level: decimal input, rescaled and back


@dataclass(frozen=True, kw_only=True)
class Box:
    """Every knob in its own interval of [0, 1], or on its own listed values.

    `low` and `high` are numbers or one number per knob. `levels` gives one entry
    per knob, the allowed values or None for a continuous knob; or it maps the
    indices of some knobs to their values.

    >>> Box().bind(3).diameter
    3.0
    >>> Box(high=[1.0, 0.5], levels={0: [0, 0.5, 1]}).bind(2).check([0.5, 0.2])
    array([0.5, 0.2])

    Raises:
        InvalidInput: an interval that is empty or leaves [0, 1], or levels that are
            outside their interval, repeated or none.
    """

    low: ArrayLike = 0.0
    high: ArrayLike = 1.0
    levels: Sequence[ArrayLike | None] | Mapping[int, ArrayLike | None] | None = field(
        default=None, hash=False
    )

    def __post_init__(self) -> None:
        # Own, comparable copies: a frozen box must not change with the caller's lists.
        low, high = (_held(x, name) for x, name in ((self.low, "low"), (self.high, "high")))
        levels = _held_levels(self.levels)
        for name, value in (("low", low), ("high", high), ("levels", levels)):
            object.__setattr__(self, name, value)
        sizes = [len(x) for x in (low, high, levels) if isinstance(x, tuple)]
        named = [j + 1 for j in levels] if isinstance(levels, dict) else []
        self.bind(max([1, *sizes, *named]))  # refuses here what no number of knobs could mend

    def bind(self, k: int) -> BoundBox:
        """This box for k knobs.

        Raises:
            InvalidInput: the box describes another number of knobs.
        """
        k = whole(k, "k", low=1)
        low = per_item(self.low, k, "low", "knob", low=0.0, strict=False)
        high = per_item(self.high, k, "high", "knob", low=0.0, strict=False)
        refuse(
            high > 1.0, lambda j: f"high[{j}] = {high[j]}; it must be at most 1: rescale the knob"
        )
        refuse(
            low > high, lambda j: f"low[{j}] = {low[j]} is above high[{j}] = {high[j]}; swap them"
        )
        knobs, values = self._listed(k)
        least, most = low[knobs], high[knobs]
        refuse(
            ~((values >= least) & (values <= most)),
            lambda p: (
                f"levels[{knobs[p]}] holds {values[p]}, outside [{least[p]}, {most[p]}]; "
                "drop the level or widen the interval"
            ),
        )
        order = np.lexsort((values, knobs))
        knobs, values = knobs[order], values[order]
        refuse(
            (np.diff(knobs) == 0) & (np.diff(values) <= SAME_LEVEL),
            lambda p: f"levels[{knobs[p]}] holds {values[p]} twice; list each level once",
        )
        offsets = np.r_[0, np.cumsum(np.bincount(knobs, minlength=k))]
        leveled = np.flatnonzero(np.diff(offsets))
        low[leveled] = values[offsets[leveled]]
        high[leveled] = values[offsets[leveled + 1] - 1]
        return BoundBox(low=low, high=high, level_offsets=offsets, level_values=values)

    def _listed(self, k: int) -> tuple[Ints, Array]:
        """All levels in one row, and the knob of each."""
        held = {} if self.levels is None else self.levels
        if isinstance(held, Mapping):
            entries = {j: values for j, values in held.items() if values is not None}
            for j in entries:
                if not 0 <= j < k:
                    raise InvalidInput(f"levels names knob {j}; the knobs are 0 to {k - 1}")
        elif len(held) != k:
            raise InvalidInput(f"levels has {len(held)} entries for {k} knobs; give one per knob")
        else:
            entries = {j: values for j, values in enumerate(held) if values is not None}
        lengths = [np.size(values) for values in entries.values()]
        knobs = np.repeat(np.fromiter(entries, np.int64, len(entries)), lengths)
        rows = [np.asarray(values, dtype=np.float64) for values in entries.values()]
        return knobs, np.concatenate([np.empty(0), *rows])


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundBox:
    """A box of a known number of knobs, as read-only arrays.

    `low` and `high` are the smallest and the largest allowed value of each knob,
    so on a knob with levels they are levels. The levels of knob j are
    `level_values[level_offsets[j]:level_offsets[j + 1]]`, ascending; none means
    that the knob is continuous.
    """

    low: Array  # (k,)
    high: Array  # (k,)
    level_offsets: Ints  # (k + 1,)
    level_values: Array

    def __post_init__(self) -> None:
        for array in (self.low, self.high, self.level_offsets, self.level_values):
            array.flags.writeable = False

    @property
    def signature(self) -> tuple[Array | Ints, ...]:
        """The arrays that tell this domain from another."""
        return self.low, self.high, self.level_offsets, self.level_values

    @property
    def anchor(self) -> Array:
        """Some state of the domain: its lower corner."""
        return self.low

    @property
    def knobs(self) -> int:
        """The number of knobs, k."""
        return self.low.size

    @cached_property
    def leveled(self) -> Ints:
        """The knobs that are restricted to listed values, ascending."""
        return read_only(np.flatnonzero(np.diff(self.level_offsets)))

    def signature_of(self, knobs: Ints) -> tuple[object, ...]:
        """What decides how these knobs are drawn, for comparison."""
        levels = tuple(self.levels_of(j).tobytes() for j in knobs.tolist())
        return self.low[knobs].tobytes(), self.high[knobs].tobytes(), levels

    def levels_of(self, j: int) -> Array:
        """The levels of knob j, ascending; none where it is continuous."""
        return self.level_values[self.level_offsets[j] : self.level_offsets[j + 1]]

    @property
    def diameter(self) -> float:
        """The largest l1 distance between two states of the box."""
        return float(np.sum(self.high - self.low))

    @property
    def diameter_l2(self) -> float:
        """The largest Euclidean distance between two states of the box."""
        return float(np.linalg.norm(self.high - self.low))

    @cached_property
    def components(self) -> Ints:
        """Which factor of the product each knob belongs to: its own, (k,)."""
        return read_only(np.arange(self.knobs))

    def unbound(self) -> Box:
        """The box that gives this one when it is bound to as many knobs."""
        levels = {int(j): self.levels_of(j) for j in self.leveled}
        return Box(low=self.low, high=self.high, levels=levels)

    def within(self, other: BoundBox) -> bool:
        """Whether every state of this box is one of the other."""
        if self.knobs != other.knobs:
            return False
        inside = (self.low >= other.low) & (self.high <= other.high)
        listed = np.isin(other.leveled, self.leveled)
        return bool(inside.all() and listed.all()) and all(
            np.isin(self.levels_of(j), other.levels_of(j)).all() for j in other.leveled
        )

    def narrowed(self, low: Array, high: Array) -> BoundBox:
        """The part of this box between low and high: (k,) each. No knob is left without a value.

        >>> Box(levels={1: [0.0, 0.4, 1.0]}).bind(2).narrowed(np.array([0.1, 0.3]), np.ones(2)).low
        array([0.1, 0.4])

        Raises:
            InvalidInput: the part has no value of some knob.
        """
        low, high = np.maximum(low, self.low), np.minimum(high, self.high)
        knob = np.repeat(np.arange(self.knobs), np.diff(self.level_offsets))
        inside = (self.level_values >= low[knob]) & (self.level_values <= high[knob])
        values, left = self.level_values[inside], np.bincount(knob[inside], minlength=self.knobs)
        empty = (low > high) | ((np.diff(self.level_offsets) > 0) & (left == 0))
        refuse(
            empty,
            lambda j: f"knob {j} has no value between {low[j]:g} and {high[j]:g}; widen the limits",
        )
        offsets = np.r_[0, np.cumsum(left)]
        leveled = np.flatnonzero(left)
        low[leveled], high[leveled] = values[offsets[leveled]], values[offsets[leveled + 1] - 1]
        return BoundBox(low=low, high=high, level_offsets=offsets, level_values=values)

    def around(self, state: Array, down: Array | float, up: Array | float) -> BoundBox:
        """The part of this box in which no knob is further below or above the state than that.

        On a knob with levels the next ones are always in it.
        """
        low, high = state - down, state + up
        for j in self.leveled.tolist():
            levels = self.levels_of(j)
            place = int(np.searchsorted(levels, state[j]))
            low[j] = min(low[j], levels[max(place - 1, 0)])
            high[j] = max(high[j], levels[min(place + 1, levels.size - 1)])
        return self.narrowed(low, high)

    def check(self, state: ArrayLike, name: str = "state") -> Array:
        """The state as a new array, each value within 1e-12 of a level made that level.

        >>> Box(levels={1: [0.1, 0.3]}).bind(2).check([0.5, 0.1 + 0.2])
        array([0.5, 0.3])

        Raises:
            InvalidInput: a wrong shape, a value that is no number, lies outside its
                interval or is no level of its knob. Nothing is clipped.
        """
        s = vector(state, self.knobs, name, "knob")
        outside = (s < self.low) | (s > self.high)
        outside[self.leveled] = False  # judged by their levels
        refuse(
            outside,
            lambda j: (
                f"{name}[{j}] = {s[j]} is outside [{self.low[j]}, {self.high[j]}]; "
                "move it inside or widen the box"
            ),
        )
        if self.leveled.size:
            lengths = np.diff(self.level_offsets)[self.leveled]
            gap = np.abs(self.level_values - np.repeat(s[self.leveled], lengths))
            nearest = np.minimum.reduceat(gap, self.level_offsets[self.leveled])
            for j in self.leveled[nearest > SAME_LEVEL]:
                levels = self.levels_of(j)
                p = int(np.searchsorted(levels, s[j]))
                near = " or ".join(map(str, levels[max(p - 1, 0) : p + 1]))
                raise InvalidInput(
                    f"{name}[{j}] = {s[j]} is no level of knob {j}; set it to {near}"
                )
            hit = gap == np.repeat(nearest, lengths)
            s[np.repeat(self.leveled, lengths)[hit]] = self.level_values[hit]
        return s

    def contains(self, state: ArrayLike) -> bool:
        """Whether `check` would accept the state.

        >>> Box(high=0.5).bind(2).contains([0.2, 0.7])
        False
        """
        try:
            self.check(state)
        except InvalidInput:
            return False
        return True

    def sample(self, rng: np.random.Generator) -> Array:
        """A uniform draw: independent knobs, each uniform on its interval or its levels.

        >>> box = Box(low=0.5, levels={1: [0.5, 1.0]}).bind(2)
        >>> box.contains(box.sample(np.random.default_rng(0)))
        True
        """
        s = np.minimum(rng.uniform(self.low, self.high), self.high)  # rounding may pass high
        first, last = self.level_offsets[self.leveled], self.level_offsets[self.leveled + 1]
        s[self.leveled] = self.level_values[rng.integers(first, last)]
        return s

    def project(self, point: Array) -> Array:
        """The nearest state in Euclidean distance, of two equally near levels the lower.

        >>> Box(levels={1: [0.0, 0.4, 1.0]}).bind(2).project(np.array([1.5, 0.3]))
        array([1. , 0.4])
        """
        s = np.minimum(np.maximum(point, self.low), self.high)
        for j in self.leveled:
            levels = self.levels_of(j)
            s[j] = levels[np.argmin(np.abs(levels - s[j]))]
        return s

    def minimiser(self, slope: Array) -> Array:
        """A state where <slope, s> is least; a knob of slope 0 at its lower end.

        >>> Box(high=0.5).bind(3).minimiser(np.array([-1.0, 0.0, 2.0]))
        array([0.5, 0. , 0. ])
        """
        return np.where(slope < 0.0, self.high, self.low)

    def farthest(self, state: Array) -> Array:
        """A state at the largest Euclidean distance from this one: a corner.

        >>> Box().bind(2).farthest(np.array([0.2, 0.7]))
        array([1., 0.])
        """
        return np.where(state - self.low > self.high - state, self.low, self.high)


def _held(value: ArrayLike, name: str) -> float | tuple[float, ...]:
    """A number, or a tuple of numbers."""
    array = floats(value, name)
    if array.ndim > 1:
        raise InvalidInput(f"{name} has shape {array.shape}; give a number or one per knob")
    return tuple(array.tolist()) if array.ndim else float(array)


def _held_levels(
    levels: Iterable[ArrayLike | None] | Mapping[int, ArrayLike | None] | None,
) -> tuple[tuple[float, ...] | None, ...] | dict[int, tuple[float, ...] | None] | None:
    """The levels as given, made of tuples."""
    if levels is None:
        return None
    if isinstance(levels, Mapping):
        for j in levels:
            if not isinstance(j, int | np.integer) or isinstance(j, bool):
                raise InvalidInput(f"levels names knob {j!r}; name knobs by their index")
        return {int(j): _held_values(values, int(j)) for j, values in levels.items()}
    try:
        entries = list(levels)
    except TypeError:
        raise InvalidInput(f"levels = {levels!r}; give one entry per knob, or a mapping") from None
    return tuple(_held_values(values, j) for j, values in enumerate(entries))


def _held_values(values: ArrayLike | None, j: int) -> tuple[float, ...] | None:
    if values is None:
        return None
    held = _held(values, f"levels[{j}]")
    if not isinstance(held, tuple):
        raise InvalidInput(f"levels[{j}] = {held}; list the values knob {j} may take, or None")
    if not held:
        raise InvalidInput(f"levels[{j}] is empty; list at least one value, or None for any")
    return held
