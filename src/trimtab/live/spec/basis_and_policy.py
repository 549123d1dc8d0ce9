"""The basis and the policy that a spec chooses, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any

from trimtab.errors import InvalidInput

if TYPE_CHECKING:  # the numerics are for those who build something
    from trimtab.model.bases import Basis

WIDEST_QUADRATIC = 10  # knobs of an objective up to which "auto" learns products: 66 features
POWERS = 6  # of a knob with a prior; `model.problem.POWERS` is the same
BENDS = ((6, POWERS), (100, 4))  # up to 6 knobs each has POWERS powers, up to 100 four; 2 beyond
PROOF = frozenset(
    {"delta", "radius", "reg", "factor_norm"}
)  # options that ask for the paper's ridge
MOST_FEATURES = 2000  # of one objective: a matrix of 32 MB
KINDS = ("auto", "linear", "quadratic", "polynomial", "fourier")  # all others are users' own


@dataclass(frozen=True, kw_only=True)
class BasisChoice:
    """The features through which every objective sees its knobs.

    ``auto`` is quadratic where no objective depends on more than 10 knobs, so that it can tell
    how two knobs act together, and else polynomial, which cannot. With the recommended prior each
    knob has higher powers too, so that losses may bend more than a parabola does. Another kind is
    the name of a basis that users have registered.

    Raises:
        InvalidInput: a registered basis that refuses its options.
    """

    kind: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)  # degree; dim, lengthscale, seed

    def __post_init__(self) -> None:
        if self.kind in KINDS:
            return
        try:
            self.features(1)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"kind = {self.kind!r}: it refuses its options: {error}") from error

    def resolved(self, widest: int, *, bends: bool) -> BasisChoice:
        """The choice with ``auto`` decided, for objectives of at most this number of knobs.

        Args:
            widest: the most knobs of any objective.
            bends: whether losses may bend more than a parabola: where a prior learns by how much.
        """
        if self.kind != "auto":
            return self
        powers = next((p for most, p in BENDS if bends and widest <= most), 2)
        if widest > WIDEST_QUADRATIC:
            return BasisChoice(kind="polynomial", options={"degree": powers} if powers > 2 else {})
        return BasisChoice(kind="quadratic", options={"powers": powers} if powers > 2 else {})

    @property
    def degree(self) -> int:
        """The degree of a polynomial basis."""
        return int(self.options.get("degree", 2))

    @property
    def powers(self) -> int:
        """The highest power of a knob in a quadratic basis."""
        return int(self.options.get("powers", 2))

    def build(self) -> Basis:
        """The basis itself."""
        from trimtab.model import bases
        from trimtab.model.bases.registry import BASES

        if self.kind == "linear":
            return bases.Linear(intercept=True)
        if self.kind == "polynomial":
            return bases.Polynomial(self.degree)
        if self.kind == "fourier":
            return bases.FourierFeatures(**{"dim": 50, **self.options})
        if self.kind in KINDS:
            return bases.Quadratic(powers=self.powers)
        own: Basis = BASES.named(self.kind)(**self.options)
        return own

    def features(self, knobs: int) -> int:
        """How many features an objective of this number of knobs has."""
        if self.kind == "linear":
            return 1 + knobs
        if self.kind == "polynomial":
            return 1 + self.degree * knobs
        if self.kind == "fourier":
            return int(self.options.get("dim", 50))
        if self.kind in KINDS:
            return 1 + self.powers * knobs + knobs * (knobs - 1) // 2
        from trimtab.model.graph import Graph
        from trimtab.model.problem import Problem

        one = Problem(Graph.from_scopes([range(knobs)], knobs=knobs), basis=self.build())
        return int(one.dims[0])

    @property
    def has_norm(self) -> bool:
        """Whether `norm` is known."""
        return self.kind in KINDS and self.kind != "fourier"

    def norm(self, knobs: int) -> float | None:
        """The longest parameter of a loss that stays in [0, 1], or a bound on it; None if unknown.

        Of a polynomial of degree p in [0, 1] on [0, 1] no coefficient but the constant is larger
        than half that of the Chebyshev polynomial T_p(2 x - 1) (V. Markov). In a sum over
        knobs the ranges of the terms add up to at most 1, so that one knob alone is the worst.
        With products, each knob's terms are in [0, 1] where the others are 0, and the coefficient
        of a product is a difference of four losses, at most 2. All features are 1 at the upper
        corner, so that normalising them divides by the root of their number.

        >>> round(BasisChoice(kind="quadratic").norm(1), 3)  # 1 - 4 x + 4 x^2: sqrt(33 * 3)
        9.95
        """
        if not self.has_norm:
            return None
        import numpy as np

        degree = {"linear": 1, "polynomial": self.degree}.get(self.kind, self.powers)
        worst = np.polynomial.Chebyshev.basis(degree, domain=[0.0, 1.0])
        powers = np.asarray(worst.convert(kind=np.polynomial.Polynomial).coef[1:], np.float64) / 2.0
        alone = float(powers @ powers)
        pairs = knobs * (knobs - 1) // 2
        square = 1.0 + (knobs * alone + 4.0 * pairs if self.kind == "quadratic" else alone)
        return sqrt(square * self.features(knobs))

    def to_dict(self) -> dict[str, Any]:
        """The table of the spec."""
        return {"kind": self.kind, **self.options}


@dataclass(frozen=True, kw_only=True)
class PolicyChoice:
    """The policy of a spec: its public name, and the options that were given.

    Raises:
        InvalidInput: options that contradict each other. The message begins with the name of one.
    """

    kind: str = "SteadyGraphLinUCB"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "radius" in self.options and "delta" in self.options:
            raise InvalidInput("radius: it replaces delta; give one of them")
        if "radius" in self.options and self.options.get("alarm"):
            raise InvalidInput("radius: alarms need bounds that hold; drop it, or alarm")
        needed = {"PooledGraphLinUCB": "noise", "AdaptiveGraphLinUCB": "gamma"}.get(self.kind)
        if self.kind == "JointLazyGraphLinUCB" and "radius" not in self.options:
            needed = "factor_norm"
        if needed is not None and not self.recommended and needed not in self.options:
            asked = ", ".join(sorted(PROOF & self.options.keys()))
            raise InvalidInput(f"{needed}: {self.kind} with {asked} needs it; give it")

    @property
    def recommended(self) -> bool:
        """Whether it learns with the recommended prior: no proof, radius or reg is asked for."""
        return self.kind != "FixedState" and not PROOF & self.options.keys()

    @property
    def fixed_radius(self) -> float | None:
        """The radius, if it is a fixed number."""
        return self.options.get("radius")

    @property
    def delta(self) -> float:
        """The probability that any bound ever fails."""
        return float(self.options.get("delta", 0.05))

    def to_dict(self) -> dict[str, Any]:
        """The table of the spec."""
        return {"kind": self.kind, **self.options}
