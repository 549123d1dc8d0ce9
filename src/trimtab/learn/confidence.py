"""Confidence radii: how far from its estimate a criterion's parameter may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, number, per_item
from trimtab.errors import InvalidInput
from trimtab.learn.fading import anew
from trimtab.learn.noise import LEAST_DF, sigma_bound

Form = Literal["logdet", "paper"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the radii of some criteria may depend on, one entry each."""

    criteria: Ints
    gain: Array  # log det V - d log reg
    seen: Ints  # rounds observed
    dims: Ints
    reg: Array
    bounds: Array  # largest |phi|
    pure_error: Array  # squared deviations of the losses from the mean of their state
    pure_df: Ints  # and their degrees of freedom
    faded: Array | float = 0.0  # d t log(1/g), where data lose weight as they age


class Radius(Protocol):
    """A rule for beta, the radius of every criterion's confidence ellipsoid."""

    @property
    def certified(self) -> bool:
        """Whether all ellipsoids hold at once, at all times, with probability 1 - delta."""

    @property
    def constant(self) -> bool:
        """Whether the radii never change."""

    @property
    def least_df(self) -> int:
        """Degrees of freedom of pure error before any radius holds: 0 if the noise is known."""

    def radii(self, evidence: Evidence) -> Array:
        """beta_i of the criteria that the evidence is about."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Confidence:
    r"""The radius under which all ellipsoids hold at once with probability 1 - delta.

    With Gamma_i = log det V_i - d_i log reg_i and m criteria:

    ======  =========================================================================
    form    beta_i
    ======  =========================================================================
    logdet  sigma_i sqrt(Gamma_i + 2 log(m / delta)) + sqrt(reg_i) norm_i
    paper   sigma_i sqrt(d_i log((1 + n_i L_i^2 / reg_i) / delta)) + sqrt(reg_i) norm_i
    ======  =========================================================================

    The first is valid at all times and for all criteria together. The second is
    the paper's Lemma (confidence ellipsoid); it is kept for reproduction. Where data fade,
    `fading.anew` is added under the first root; neither covers the drift itself.

    Deviation: the paper's form has no union over the criteria and too small a
    log(1/delta) term for d_i = 1, so that its ellipsoids fail far more often than
    delta; `logdet` is the default.

    With ``sigma=None`` the noise is estimated from what frozen states show of it: sigma_i
    becomes `noise.sigma_bound` at alpha = delta / (2 m), as of the last flush, and the
    ellipsoids get the other half, 2 log(2 m / delta). For Gaussian noise this is as valid as
    a known sigma: all ellipsoids hold at once, at all times, with probability 1 - delta. No
    radius holds before every criterion's pure error has 20 degrees of freedom, 21 losses of
    one state: until then policies keep the start state, whatever their `cold_start`, and
    then make their first solve. A criterion that is never observed keeps them there. The
    radius may shrink; bounds that need one for all rounds take the largest.

    With a ``prior`` whose spread and sigma were given, V_i starts at its V0 instead of reg_i I,
    Gamma_i is log det V_i - log det V0_i, and the bias is sigma_i norm_i, with the prior's sigma:
    `norm` then bounds the length of theta_i, less the prior's mean, in V0, divided by sigma. That
    is its distance from the mean in the prior's standard deviations.

    >>> Confidence(sigma=0.1, norm=2.0).balanced_reg
    0.0025000000000000005

    >>> import trimtab as tt
    >>> world = tt.worlds.quadratic(tt.Graph.complete(2), seed=1)
    >>> unknown = Confidence(sigma=None, norm=world.norms)
    >>> policy = tt.LazyGraphLinUCB(world.problem, start=[0.5, 0.5], radius=unknown)
    >>> policy.ask(), policy.rounds_left()
    (array([0.5, 0.5]), 21)
    >>> tt.play(policy, world, horizon=10**4).solves > 5
    True

    Args:
        sigma: the noise of each criterion's loss (sub-Gaussian scale), None to estimate it.
        norm: a bound on the length of each criterion's true parameter; with a prior, in its
            standard deviations.
        delta: the probability that any ellipsoid ever fails.
        form: which of the formulas.
    """

    sigma: float | ArrayLike | None
    norm: float | ArrayLike
    delta: float = 0.05
    form: Form = "logdet"

    def __post_init__(self) -> None:
        number(self.delta, "delta", low=0.0, strict=True, high=1.0)
        if self.form not in get_args(Form):
            raise InvalidInput(f"form = {self.form!r}; choose 'logdet' or 'paper'")
        for name in ("norm",) if self.sigma is None else ("sigma", "norm"):
            value = np.asarray(getattr(self, name))
            per_item(value, value.size, name, "criterion", low=0.0, strict=name == "sigma")

    @property
    def balanced_reg(self) -> float | Array:
        """The reg at which the bias term, sqrt(reg) norm, equals sigma: (sigma / norm)^2."""
        if self.sigma is None:
            raise InvalidInput(
                "sigma = None has no balanced reg, which is needed before sigma is estimated; "
                "choose reg yourself"
            )
        norm = np.asarray(self.norm, np.float64)
        if np.any(norm == 0.0):
            raise InvalidInput("norm = 0 has no balanced reg; choose reg yourself")
        reg = (np.asarray(self.sigma, np.float64) / norm) ** 2
        return float(reg) if reg.ndim == 0 else reg

    def bind(self, m: int) -> BoundConfidence:
        """The rule for m criteria."""
        sigma = None
        if self.sigma is not None:
            sigma = per_item(self.sigma, m, "sigma", "criterion", low=0.0, strict=True)
        norm = per_item(self.norm, m, "norm", "criterion", low=0.0, strict=False)
        return BoundConfidence(sigma=sigma, norm=norm, delta=float(self.delta), form=self.form)


def union(m: int, delta: float) -> float:
    """2 log(m / delta): what the square of a log-det radius needs for m ellipsoids at once."""
    return 2.0 * float(np.log(m / delta))


@dataclass(frozen=True, kw_only=True)
class BoundConfidence:
    """A `Confidence` of a known number of criteria."""

    sigma: Array | None  # (m,)
    norm: Array  # (m,)
    delta: float
    form: Form
    constant = False

    @property
    def certified(self) -> bool:
        """Whether the radius is proven: the log-det form; with sigma=None for Gaussian noise."""
        return self.form == "logdet"

    @property
    def least_df(self) -> int:
        """Degrees of freedom of pure error before any radius holds: 0 if the noise is known."""
        return LEAST_DF if self.sigma is None else 0

    def radii(self, evidence: Evidence) -> Array:
        """beta_i of the criteria that the evidence is about."""
        at, m = evidence.criteria, self.norm.size
        delta = self.delta if self.sigma is not None else self.delta / 2.0
        if self.form == "paper":
            growth = 1.0 + evidence.seen * evidence.bounds**2 / evidence.reg
            inside: Array = np.asarray(evidence.dims * np.log(growth / delta), np.float64)
        else:
            inside = evidence.gain + union(m, delta) + anew(evidence.faded)
        bias = np.sqrt(evidence.reg) * self.norm[at]
        # Where nothing has been seen there is no noise in the estimate, only bias.
        unseen = evidence.seen == 0 if self.sigma is None else np.zeros(at.size, bool)
        return np.where(unseen, bias, self.noise(evidence) * np.sqrt(inside) + bias)

    def noise(self, evidence: Evidence) -> Array:
        """sigma of the criteria that the evidence is about, or a bound on it."""
        if self.sigma is not None:
            return self.sigma[evidence.criteria]
        alpha = self.delta / (2.0 * self.norm.size)
        return sigma_bound(evidence.pure_error, evidence.pure_df, alpha)


@dataclass(frozen=True)
class PosteriorWidth:
    """A multiple of the posterior standard deviation, which a learner sets at every look.

    Nothing is certified under it: it is what is probable, not what is proven.
    """

    criteria: int
    certified = False
    constant = True
    least_df = 0

    def radii(self, evidence: Evidence) -> Array:
        """What stands before the first look: no width."""
        return np.zeros(evidence.criteria.size)


@dataclass(frozen=True)
class FixedRadius:
    """The same radius at all times: what the paper's experiments use, without any coverage."""

    beta: Array  # (m,)
    certified = False
    constant = True
    least_df = 0

    def radii(self, evidence: Evidence) -> Array:
        """beta_i of the criteria that the evidence is about."""
        return self.beta[evidence.criteria]


def as_radius(radius: float | ArrayLike | Confidence, m: int) -> Radius:
    """The rule that the user's `radius` argument stands for."""
    if isinstance(radius, Confidence):
        return radius.bind(m)
    return FixedRadius(per_item(radius, m, "radius", "criterion", low=0.0, strict=False))


def radius_to_plain(radius: Radius) -> dict[str, Any]:
    """The rule as plain scalars and arrays, for a snapshot."""
    if isinstance(radius, BoundConfidence):
        unknown = np.full(radius.norm.size, np.nan)
        sigma = unknown if radius.sigma is None else radius.sigma.copy()
        arrays = {"sigma": sigma, "norm": radius.norm.copy()}
        return arrays | {"delta": radius.delta, "form": radius.form}
    if isinstance(radius, FixedRadius):
        return {"beta": radius.beta.copy()}
    if isinstance(radius, PosteriorWidth):
        return {}
    raise InvalidInput(f"a {type(radius).__name__} cannot be saved; use a number or a Confidence")


def radius_from_plain(plain: Mapping[str, Any]) -> ArrayLike | Confidence:
    """The `radius` argument that `radius_to_plain` saw."""
    if "form" in plain:
        unknown = np.isnan(plain["sigma"]).all()
        return Confidence(**{**plain, "sigma": None} if unknown else plain)
    beta: ArrayLike = plain["beta"]
    return beta
