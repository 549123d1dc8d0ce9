"""The doors of the compiled core, src/core/module.cpp. Arrays are contiguous and never copied."""

from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

class Regression:
    """Lazy ridge regressions over the arrays of a `Statistics`, which it keeps and writes to."""

    def __init__(self, arrays: Any) -> None: ...
    def begin(self, criteria: Ints, again: bool) -> None:
        """V_i and b_i are what they start at, nothing is in the sums; `again` adds the old data."""

    def add(self, losses: object, count: Ints | None, limit: float) -> int:
        """One round, (m,), or several, (n, m), seen by every criterion; how many losses were cut.

        -1, and nothing has changed, if these are not numbers of at most this size in an array. With
        a count, (m,), they are means of that number of rounds, and may have gaps (NaN).
        """

    def add_owed(self, criteria: Ints, mean: Array, squares: Array) -> None:
        """Losses that were owed arrive: their mean, and their sum of squares about it."""

    def take(self, criteria: Ints, phi: Array, losses: Array | None, count: Ints) -> None:
        """Each criterion has seen a loss of its own at features phi, the mean of `count` rounds.

        None stands for the losses that are expected: widths shrink, and no estimate changes.
        """

    def flush(self, criteria: Ints, rounds: int, memory: int, steps: float, lost: Array) -> None:
        """The sums of these criteria go into their factors, as one weighted datum each.

        Before, all levels wander by `steps` variances of a loss; `lost` counts what is forgotten by
        this. With a memory below 2^62 data lose 1/memory of their weight in each of these rounds.
        """

    def measure(self, criteria: Ints, factor: float) -> None:
        """The estimated loss, w_i and n*_i at the deployed state, and the first trigger of all."""

    def likelihood(
        self,
        criteria: Ints,
        phi: Array,
        n: Array,
        losses: Array,
        rounds: Array,
        sigma: Array,
        misfit: Array,
        grid: Array,
        far: float,
    ) -> Array:
        """Of epochs, each given those before, in logarithms, if levels wander by g of the grid."""

    def compare(
        self,
        sigma: Array,
        misfit: Array,
        g: float,
        enough: int,
        heard: Array,
        far: Array,
        alone: Array,
    ) -> tuple[int, float, float]:
        """Fill in how far off each is; how many were compared, and their sums of z and z^2."""

class Features:
    """Feature maps: powers of one knob and products of two, or waves, by the arrays given."""

    def __init__(self, arrays: Any) -> None: ...
    def fill(self, phi: Array, state: Array, criteria: Ints) -> None:
        """Write phi_i(state) into its slice of phi."""

def rounds_to_trigger(spread: float, since: float, factor: float) -> int:
    """n*: the first n with since + log(1 + n spread) > log(factor), ties excepted."""

def predict(
    R: Array, blocks: Ints, offsets: Ints, criteria: Ints, phi: Array
) -> tuple[Array, Array]:
    """phi_i' theta_i and phi_i' V_i^{-1} phi_i of these criteria at features phi."""

def parts(
    scope_offsets: Ints, scope: Ints, touch_offsets: Ints, touch: Ints, free: Ints
) -> tuple[Ints, Ints, Ints, Ints]:
    """Free knobs that hang together by criteria that read them.

    The knobs, part after part, and where each part ends; their readers likewise.
    """

class Weighed(TypedDict):
    """What a look has weighed."""

    free: Array  # the best state were moves free
    value: float  # F there
    best: Array  # the one to take
    rounds: int  # within which it pays
    here: tuple[Array, Array]  # the parts of F at the present state: estimated losses, widths
    there: tuple[Array, Array]  # and at the best, or were moves free if that is the present one
    solves: int

class Objective:
    """The lower confidence bound of monomial features on a box; it reads the arrays given."""

    def __init__(
        self,
        maps: Features,
        bound: Any,
        graph: Any,
        domain: Any,
    ) -> None: ...
    def minimise(
        self,
        start: Array,
        current: Array,
        price: Array,
        knobs: Ints,
        criteria: Ints,
        effort: float,
        seed: int,
        curved: bool,
    ) -> tuple[Array, float, int] | None:
        """The free knobs' best state that descents lead to, its value, and the steps taken.

        The first descent is from `start`; with an effort others are from random points, until their
        steps are used or enough of them have led to the best value again. With `curved` it is None
        where every minimiser is among levels or vertices.
        """

    def weigh(
        self,
        current: Array,
        low: Array,
        high: Array,
        price: Array,
        rounds: int,
        limit: int,
        prune: float,
        factor: float,
        effort: float,
        seed: int,
        deploy: Regression | None,
    ) -> Weighed | None:
        """The state that pays, between low and high; None where a part is not curved, or on levels.

        A move has to pay within `rounds`, or 0 for those until the next trigger, which are
        raised up to the limit until they suffice. That share of the width is given up so that
        fewer knobs move. The regressions that are to `deploy` are at the state afterwards, with all
        clocks reset, if the value is finite.
        """

    def tabulate(
        self,
        state: Array,
        knobs: Ints,
        criteria: Ints,
        firsts: Ints,
        values: Array,
    ) -> Array:
        """The terms of the criteria over candidates of the free knobs they read, in C order."""

def choose(states: Array, values: Array, current: Array) -> int:
    """Which state to take: of those tied with the best the nearest to the current one, in l1."""

class Elimination:
    """Exact minimisation of a sum of tables by bucket elimination."""

    def minimum(self, tables: Array, toll: Array) -> tuple[Ints, float, int]:
        """The best candidate of every variable, the least sum, and the bag entries that it took.

        Of equals it is the one of the least toll.
        """

def plan(offsets: Ints, reads: Ints, counts: Ints, most: int) -> Elimination | None:
    """How to eliminate all variables; None if that takes more than `most` bag entries.

    Factors read the variables `reads`, ascending, factor after factor.
    """

class LocalUpdate:
    """The update of Section 5.1, of one policy: `bound` has the radii, `growing` how they grow."""

    def __init__(
        self, regression: Regression, objective: Objective, bound: Any, growing: Any
    ) -> None: ...
    def update(
        self,
        state: Array,
        width: float,
        around: Ints,
        triggered: Ints,
        factor: float,
        effort: float,
        seed: int,
    ) -> tuple[Array, bool] | None:
        """Free what the criteria around read, flush, search and reset clocks, from this state.

        W is `width` there. The new state, or the old one and False where values are not finite;
        None, and nothing has changed, where a part is linear in its knobs.
        """

    def play(
        self,
        theta: Array,
        sigma: Array,
        state: Array,
        width: float,
        t: int,
        stop: int,
        clock: int,
        review: int,
        rate: float,
        bound: float,
        bound_per_round: float,
        factor: float,
        effort: float,
        seed: int,
        bits: object,
    ) -> Played:
        """Play the asynchronous policy in a world with Gaussian noise, from event to event."""

    @property
    def nbytes(self) -> int:
        """The memory it holds beside the arrays it was given."""

class Played(TypedDict):
    """What a run from event to event has recorded."""

    status: str  # "done", "full" of records, "ask" the policy, "failed" to stay finite
    state: Array  # now deployed
    t: int  # rounds played
    bound: float  # of the regret so far
    solves: int  # local updates
    first_solve: int  # the round of the first
    attributions: Ints  # (m,) how often each criterion has triggered
    ends: Ints  # the last round of each stretch at one state
    rates: Array  # the expected total loss of a round in each stretch
    offsets: Ints  # where the knobs changed after each stretch begin
    changed: Ints  # the knobs changed, stretch after stretch
    values: Array  # what they were set to

def gaussian_sums(bits: object, sigma: Array, n: Ints) -> tuple[Array, Array]:
    """The mean of n normal numbers each, and the squares about it, from a bit generator."""
