"""A product of unit balls, the domain of the paper's first two experiments."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, read_only, refuse, vector, whole
from trimtab.errors import InvalidInput
from trimtab.model.graph import Graph

ROUNDING = 1e-9  # how much longer than 1 a block may be: what normalising leaves


@dataclass(frozen=True)
class Balls:
    """Every block of knobs inside its own unit ball, the blocks given as lists of knobs.

    It takes a linear basis and scopes that are unions of blocks; anything else is refused.

    >>> Balls([[0, 1], [2, 3]]).bind(4).check([0.6, 0.8, 0.0, -1.0])
    array([ 0.6,  0.8,  0. , -1. ])

    Raises:
        InvalidInput: a block that is empty, or a knob in two blocks.
    """

    blocks: Iterable[Collection[int]]

    def __post_init__(self) -> None:
        held = tuple(tuple(whole(j, "a knob of blocks", low=0) for j in b) for b in self.blocks)
        object.__setattr__(self, "blocks", held)
        if not held or not all(held):
            raise InvalidInput("blocks is empty or has an empty block; list the knobs of each ball")
        knobs = [j for block in held for j in block]
        if len(set(knobs)) < len(knobs):
            raise InvalidInput("blocks names a knob twice; each knob belongs to one ball")

    def bind(self, k: int) -> BoundBalls:
        """These balls for k knobs.

        Raises:
            InvalidInput: the blocks are not made of exactly these knobs.
        """
        k = whole(k, "k", low=1)
        blocks = [np.array(sorted(block), np.int64) for block in self.blocks]
        knobs = np.concatenate(blocks)
        if knobs.size != k or knobs.max() != k - 1:
            raise InvalidInput(
                f"blocks has {knobs.size} knobs; it must name 0 to {k - 1}, each once"
            )
        return BoundBalls(
            block_offsets=np.r_[0, np.cumsum([block.size for block in blocks])],
            block_knobs=knobs,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundBalls:
    """Balls of a known number of knobs, as read-only arrays.

    The knobs of block b are `block_knobs[block_offsets[b]:block_offsets[b + 1]]`.
    """

    block_offsets: Ints
    block_knobs: Ints  # (k,)

    def __post_init__(self) -> None:
        for array in self.signature:
            read_only(array)

    @property
    def signature(self) -> tuple[Array | Ints, ...]:
        """The arrays that tell this domain from another."""
        return self.block_offsets, self.block_knobs

    @property
    def knobs(self) -> int:
        """The number of knobs, k."""
        return self.block_knobs.size

    @cached_property
    def low(self) -> Array:
        """The smallest value of each knob, -1."""
        return read_only(np.full(self.knobs, -1.0))

    @cached_property
    def high(self) -> Array:
        """The largest value of each knob, 1."""
        return read_only(np.full(self.knobs, 1.0))

    @cached_property
    def anchor(self) -> Array:
        """Some state of the domain: the centre of the balls."""
        return read_only(np.zeros(self.knobs))

    @property
    def diameter(self) -> float:
        """The largest l1 distance between two states: 2 sqrt(n) for a ball in n dimensions."""
        return float(2.0 * np.sqrt(np.diff(self.block_offsets)).sum())

    @property
    def diameter_l2(self) -> float:
        """The largest Euclidean distance between two states: 2 sqrt(number of balls)."""
        return float(2.0 * np.sqrt(self.block_offsets.size - 1))

    @property
    def components(self) -> Ints:
        """Which factor of the product each knob belongs to: its ball, (k,)."""
        return self.block_of

    def unbound(self) -> Balls:
        """The balls that give these when they are bound to as many knobs."""
        return Balls([self.block(b).tolist() for b in range(self.block_offsets.size - 1)])

    def signature_of(self, knobs: Ints) -> tuple[object, ...]:
        """What decides how these knobs are drawn, for comparison."""
        return tuple(self.block(int(b)).size for b in self.block_of[knobs])

    def block(self, b: int) -> Ints:
        """The knobs of block b, ascending."""
        return self.block_knobs[self.block_offsets[b] : self.block_offsets[b + 1]]

    @cached_property
    def block_of(self) -> Ints:
        """The block of each knob: (k,)."""
        of = np.empty(self.knobs, np.int64)
        of[self.block_knobs] = np.repeat(
            np.arange(self.block_offsets.size - 1), np.diff(self.block_offsets)
        )
        return read_only(of)

    def blocks_in(self, knobs: Ints) -> Ints:
        """The blocks that these knobs are made of, ascending.

        Raises:
            InvalidInput: a block is there only in part.
        """
        blocks = np.unique(self.block_of[knobs])
        if np.diff(self.block_offsets)[blocks].sum() != knobs.size:
            raise InvalidInput(
                f"knobs {knobs.tolist()} hold a block only in part; on Balls every scope "
                "must be a union of blocks"
            )
        return blocks

    def blocks_per_scope(self, graph: Graph) -> Ints:
        """How many blocks each criterion reads: (m,)."""
        counts = [self.blocks_in(graph.scope(i)).size for i in range(graph.criteria)]
        return np.array(counts, np.int64)

    def check(self, state: ArrayLike, name: str = "state") -> Array:
        """The state as a new array.

        Raises:
            InvalidInput: a wrong shape, a value that is no number, a block outside its ball.
        """
        s = vector(state, self.knobs, name, "knob")
        square = np.add.reduceat(s[self.block_knobs] ** 2, self.block_offsets[:-1])
        refuse(
            square > 1.0 + 2.0 * ROUNDING,
            lambda b: (
                f"{name}[{int(self.block(b)[0])}] and the rest of block {b} have length "
                f"{np.sqrt(square[b]):g}; a ball has radius 1: move it inside"
            ),
        )
        return s

    def contains(self, state: ArrayLike) -> bool:
        """Whether `check` would accept the state."""
        try:
            self.check(state)
        except InvalidInput:
            return False
        return True

    def sample(self, rng: np.random.Generator) -> Array:
        """A uniform draw: every block uniform in its ball."""
        s = rng.normal(size=self.knobs)
        for b in range(self.block_offsets.size - 1):
            x = s[self.block(b)]
            s[self.block(b)] = x / np.linalg.norm(x) * rng.random() ** (1.0 / x.size)
        return s

    def project(self, point: Array) -> Array:
        """The nearest state in Euclidean distance: blocks that are too long, shortened.

        >>> Balls([[0, 1], [2]]).bind(3).project(np.array([3.0, 4.0, 0.5]))
        array([0.6, 0.8, 0.5])
        """
        return point / np.maximum(self._lengths(point), 1.0)

    def minimiser(self, slope: Array) -> Array:
        """The state where <slope, s> is least; a ball of slope 0 at its centre."""
        lengths = self._lengths(slope)
        return np.divide(-slope, lengths, out=np.zeros(self.knobs), where=lengths > 0.0)

    def farthest(self, state: Array) -> Array:
        """A state at the largest Euclidean distance from this one: opposite, on the sphere.

        >>> Balls([[0, 1], [2]]).bind(3).farthest(np.array([0.3, 0.4, 0.0]))
        array([-0.6, -0.8,  1. ])
        """
        away = self.minimiser(state)
        first = self.block_knobs[self.block_offsets[:-1]]
        at_centre = first[self._lengths(state)[first] == 0.0]
        away[at_centre] = 1.0  # everything on the sphere is equally far
        return away

    def _lengths(self, point: Array) -> Array:
        """The length of each knob's block: (k,)."""
        square = np.add.reduceat(point[self.block_knobs] ** 2, self.block_offsets[:-1])
        return np.asarray(np.sqrt(square)[self.block_of])
