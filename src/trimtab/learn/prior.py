r"""What is believed of the losses before any is seen: a matrix V0 instead of reg times I.

On the domain a loss is a sum c' psi of orthonormal polynomials (`bases.orthonormal`), and before
any data its coefficients are independent and normal, with standard deviations that fall with the
degree, in units of the *spread* S of the loss:

    c_k ~ N(S mean_k, (S sd_k)^2),    theta' phi = c' psi,    phi = B psi.

The mean is 0 but for squares, where it is a little above: most systems suffer from too little of a
knob and from too much.

With noise sigma the ridge regression whose mean and width are the posterior's begins at

    V0 = sigma^2 B D^{-1} B' = r K,    r = (sigma / S)^2,    K = B diag(sd)^{-2} B',

in the units in which V counts rounds. K depends on the basis, the domain and the scope alone; what
is learned of spread and noise changes the one number r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, per_item
from trimtab.errors import InvalidInput
from trimtab.model.bases import Monomials
from trimtab.model.bases.fourier import Fourier
from trimtab.model.bases.orthonormal import coordinates
from trimtab.model.bases.pairwise_fourier import Waves
from trimtab.model.domain import BoundDomain
from trimtab.model.problem import Problem

CONSTANT = 3.0  # standard deviations in units of the spread: of the mean over the domain,
ALONE = (0.3, 0.15, 0.1, 0.06)  # of degree 1, 2, ... in one knob, by half for every degree beyond,
TOGETHER = 0.1  # and of products of two knobs, by half too
BENDS = (0.1, 0.3, 1.0, 3.0)  # what may multiply those of all degrees above 2: it is learned
BOWL = 0.2  # the mean of the coefficients of degree 2 in one knob: too little and too much cost
GROUPS = (0.3, 0.1)  # of a function of one knob, and of two, where they are made of waves
ANY = 0.35  # of a loss over the domain, where the basis is not made of powers
PROBES = 512  # states at which such a basis is looked at
EPS = 1e-9  # of the largest precision: what the features cannot tell apart

Layout = tuple[Array, list[Array]]  # the mean of a criterion, and the factors of its K, by bend
# Layouts by shape: a copy of a policy, and the next tuner of a fleet, need those of the one before.
RECENT: dict[object, Layout] = {}
MOST_RECENT = 500
LARGE = 100  # features of a criterion whose layout is not kept


@dataclass(frozen=True, kw_only=True, eq=False)
class Prior:
    """What is believed of the losses before any is seen; what is None is learned.

    >>> Prior(spread=1.0)
    Prior(spread=1.0, sigma=None, least=None)

    Args:
        spread: by how much a loss changes over the box, one number or one per criterion. Learned
            as one number for all, in units of weighted loss: what matters equally may change
            equally.
        sigma: the noise of one loss, one number or one per criterion. Learned for each, with the
            others as a guide.
        least: what no loss is ever below, one number or one per criterion. A move has to pay, and
            a record has to promise, no more than that leaves room for.
    """

    spread: float | ArrayLike | None = None
    sigma: float | ArrayLike | None = None
    least: float | ArrayLike | None = None

    def __post_init__(self) -> None:
        for name, low in (("spread", 0.0), ("sigma", 0.0), ("least", -np.inf)):
            if getattr(self, name) is not None:
                value = np.asarray(getattr(self, name))
                per_item(value, value.size, name, "criterion", low=low, strict=True)

    def bind(self, problem: Problem) -> BoundPrior:
        """The prior of all criteria of a problem."""

        def each(name: str, low: float = 0.0) -> Array | None:
            value, m = getattr(self, name), problem.criteria
            if value is None:
                return None
            return per_item(value, m, name, "criterion", low=low, strict=True)

        bends = BENDS if _bends(problem) else (1.0,)
        mean, roots = _laid_out(problem, bends)
        return BoundPrior(
            spread=each("spread"),
            sigma=each("sigma"),
            least=each("least", -np.inf),
            unit=1.0 / problem.weights,
            dims=problem.dims,
            constant=_constants(problem),
            mean=mean,
            bends=np.array(bends),
            roots=roots,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundPrior:
    """The prior of every criterion of a problem."""

    spread: Array | None  # (m,)
    sigma: Array | None  # (m,)
    least: Array | None  # (m,)
    unit: Array  # (m,) losses that matter equally
    dims: Ints  # (m,) features of each criterion
    constant: Ints  # (m,) the feature of each criterion that is the same everywhere, -1 for none
    mean: Array  # (sum d,) of the parameters, for a spread of 1
    bends: Array  # factors of the deviations of all degrees above 2, one of which is learned
    roots: tuple[Array, ...]  # by bend, the Cholesky factors of K, laid out as the augmented
    #               factors of `Statistics`; below each the row L' mean, of losses with this mean

    @property
    def usual(self) -> int:
        """The bend that is believed before anything is known."""
        return int(np.argmin(np.abs(np.log(self.bends))))

    @property
    def ratio(self) -> Array:
        """r_i = (sigma_i / S_i)^2 where both were given: (m,)."""
        if self.spread is None or self.sigma is None:
            raise InvalidInput("spread and sigma are learned; give both to know V0 beforehand")
        return np.asarray((self.sigma / self.spread) ** 2)

    def parameters(self, spread: Array, normal: Array) -> Array:
        """Parameters of all criteria as this prior has them, for losses of these spreads.

        Args:
            spread: S of each criterion, (m,).
            normal: a standard normal number per parameter; zeros give the mean, (sum d,).
        """
        found, first, root = self.mean.copy(), 0, 0
        for i, d in enumerate(self.dims.tolist()):
            L = np.zeros((d, d))
            L[np.tril_indices(d)] = self.roots[self.usual][root : root + d * (d + 1) // 2]
            mine = slice(first, first + d)
            found[mine] = spread[i] * (found[mine] + np.linalg.solve(L.T, normal[mine]))
            first, root = first + d, root + (d + 1) * (d + 2) // 2
        return found


def _constants(problem: Problem) -> Ints:
    features, found = problem.features, np.full(problem.criteria, -1)
    if isinstance(features, Monomials):
        rows = np.flatnonzero((features.arrays.p == 0) & (features.arrays.q == 0))
        criteria = np.searchsorted(features.offsets, rows, side="right") - 1
        found[criteria] = rows - features.offsets[criteria]
    if isinstance(features, Waves):
        found[:] = 0
    return found


def _bends(problem: Problem) -> bool:
    """Whether the basis has more than a quadratic."""
    features = problem.features
    return (
        isinstance(features, Monomials) and int((features.arrays.p + features.arrays.q).max()) > 2
    )


def _laid_out(problem: Problem, bends: Sequence[float]) -> tuple[Array, tuple[Array, ...]]:
    """The means of all criteria, and the factors of their K, by bend."""
    features, domain = problem.features, problem.domain
    if not isinstance(features, Monomials):
        nothing = np.zeros(int(features.offsets[-1]))
        return nothing, (np.concatenate([_packed(K, np.zeros(len(K))) for K in _any(problem)]),)
    known: dict[object, Layout] = {}
    found = []
    for i in range(problem.criteria):
        shape = _shape(features, domain, problem.graph.scope(i), i)
        key = (type(domain), tuple(bends), *shape)
        if key not in known:
            known[key] = RECENT.get(key) or _layout(features, domain, i, bends)
        found.append(known[key])
    if len(RECENT) > MOST_RECENT:
        RECENT.clear()
    RECENT.update({key: each for key, each in known.items() if len(each[0]) <= LARGE})
    means, roots = zip(*found, strict=True)
    return np.concatenate(means), tuple(map(np.concatenate, zip(*roots, strict=True)))


def _layout(features: Monomials, domain: BoundDomain, i: int, bends: Sequence[float]) -> Layout:
    """The mean of a criterion, and the factors of its K, by bend."""
    parts = [_of_powers(features, domain, i, bend) for bend in bends]
    return parts[0][1], [_packed(K, mean) for K, mean in parts]


def _shape(features: Monomials, domain: BoundDomain, scope: Ints, i: int) -> tuple[object, ...]:
    """Criteria of which this is equal have one K."""
    maps = features.arrays
    mine = slice(maps.offsets[i], maps.offsets[i + 1])
    a, b = (np.searchsorted(scope, x[mine]) for x in (maps.a, maps.b))
    knobs = domain.signature_of(scope)
    powers = np.stack((a, maps.p[mine], b, maps.q[mine]))
    return powers.tobytes(), float(maps.scale[i]), knobs


def _of_powers(
    features: Monomials, domain: BoundDomain, i: int, bend: float
) -> tuple[Array, Array]:
    """K and the mean of a criterion whose features are powers and products of knobs."""
    known = coordinates(features, domain, i)
    sd = np.array([_deviation(int(p), int(q)) for p, q in known.degrees])
    sd[known.degrees.sum(axis=1) > 2] *= bend
    half = known.B / sd
    bowl = np.where(np.sort(known.degrees, axis=1)[:, 1] == 2, BOWL, 0.0)
    bowl[known.degrees.min(axis=1) > 0] = 0.0
    mean = np.linalg.lstsq(known.B.T, bowl, rcond=1e-9)[0]
    return np.asarray(half @ half.T), np.asarray(mean, np.float64)


def _deviation(p: int, q: int) -> float:
    """The standard deviation of a coefficient, by its degrees in one knob and in another."""
    if p == 0 and q == 0:
        return CONSTANT
    if p and q:
        return TOGETHER * 0.5 ** (p + q - 2)
    degree = max(p, q)
    return float(ALONE[min(degree, len(ALONE)) - 1] * 0.5 ** max(degree - len(ALONE), 0))


def _any(problem: Problem) -> list[Array]:
    """K of all criteria of any basis: equal beliefs in all directions that the domain shows.

    The coefficients of waves are independent and alike: then the loss is as smooth as the waves
    were drawn, where equal beliefs would be strongest in what hardly shows.
    """
    if isinstance(problem.features, Waves):
        return [_of_waves(problem.features, i) for i in range(problem.criteria)]
    rng = np.random.default_rng(0)
    phi = np.array([problem.phi(problem.domain.sample(rng)) for _ in range(PROBES)])
    parts = np.split(phi, problem.features.offsets[1:-1], axis=1)
    if isinstance(problem.features, Fourier):
        return [np.eye(x.shape[1]) * (x * x).sum() / (PROBES * ANY**2) for x in parts]
    return [x.T @ x * (x.shape[1] / (PROBES * ANY**2)) for x in parts]


def _of_waves(features: Waves, i: int) -> Array:
    """K of a criterion: groups of one knob and of two, each as smooth as its waves were drawn."""
    shape, dim = features.shapes[i], features.basis.dim
    sd = [CONSTANT] + [x for group in shape.groups for x in [GROUPS[len(group) - 1]] * dim]
    return np.diag((shape.amplitude[0] / np.array(sd)) ** 2)


def _packed(K: Array, mean: Array) -> Array:
    """The Cholesky factor L of K, row after row, and L' mean below it."""
    d = len(K)
    L = np.linalg.cholesky(K + EPS * float(np.trace(K)) / d * np.eye(d))
    return np.concatenate((L[np.tril_indices(d)], L.T @ mean, np.zeros(1)))
