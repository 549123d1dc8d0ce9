r"""One ridge regression for all factors together, lazy like the node-wise ones.

With Psi the (m, d_eff) features of a state and Q the inverse covariance of the losses (I for
ordinary least squares) a round adds Psi' Q Psi to V and Psi' Q y to b. While a state stays Psi is
constant, so that n rounds seen by everybody give

    det V(n) / det V = prod_i (1 + n a_i),    a = eig(Q G),    G = Psi V^{-1} Psi',

and the determinant test has its answer beforehand: n* is found by bisection. Rounds with gaps
add some other P than n Q; they only change G and the ratio so far, by matrices of size m.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.errors import InvalidInput
from trimtab.learn.joint.model import Factors
from trimtab.learn.joint.noise import JointNoise
from trimtab.learn.joint.prior import JointData, JointPrior
from trimtab.learn.nodewise import UNKNOWN
from trimtab.learn.statistics import NEVER, TIE, triangle_size, unpack

_ARRAYS = ("R", "part", "correction")
_DATA = ("alone", "H", "W", "T")  # kept beside where V starts at a prior
_SCALARS = ("full", "gain", "since")


class JointEstimator:
    """The regression of all factors, and its clock.

    Between two flushes it keeps only how often the state was seen; the losses themselves are
    summed by the node-wise estimators, and handed over by `absorb`.

    >>> import trimtab as tt
    >>> from trimtab.learn.joint.model import Factors
    >>> from trimtab.learn.joint.noise import joint_noise
    >>> problem = tt.Problem(tt.Graph.complete(2), basis=tt.bases.Linear())
    >>> joint = JointEstimator(
    ...     Factors(problem), noise=joint_noise(None, 2), reg=1.0, factor=2.0, state=np.ones(2)
    ... )
    >>> joint.rounds_left()  # 1 + n / 2 > 2
    3

    Args:
        factors: the features of the criteria, and what they share.
        noise: how observations are weighed.
        reg: the ridge parameter; V starts at reg I.
        factor: C > 1, by how much the determinant must grow to trigger.
        state: the state deployed first.
        prior: if given, V starts at r K instead, where r is set by `start_at`, and observations
            are weighed as it says.
    """

    def __init__(
        self,
        factors: Factors,
        *,
        noise: JointNoise,
        reg: float,
        factor: float,
        state: Array,
        prior: JointPrior | None = None,
    ) -> None:
        noise = noise if prior is None else prior.noise
        m, d = factors.problem.criteria, factors.dim
        self.factors, self.noise, self.reg, self.factor = factors, noise, reg, factor
        self.Q = np.eye(m) if noise.precision is None else noise.precision
        self.root_Q = np.linalg.cholesky(self.Q)
        self.R = np.zeros(triangle_size(d + 1))  # the augmented factor, as in `factor`
        rows = np.arange(d)
        self.R[rows * (rows + 3) // 2] = np.sqrt(reg)
        self.prior = prior
        if prior is not None:
            self.R[:] = prior.start(UNKNOWN, 0.0)
        self.alone = np.zeros(0 if prior is None else self.R.size)  # the factor without V's start
        self.H = np.zeros((0, m) if prior is None else (d, m))  # sums of Psi' P, P and P y
        self.W = np.zeros((0, m) if prior is None else (m, m))
        self.T = np.zeros(0 if prior is None else m)
        self.gain = 0.0  # Gamma = log det V - d_eff log reg
        self.since = 0.0  # log det V - log det V(tau)
        self.full = 0  # rounds of the deployed state that everybody has seen
        self.part = np.zeros((m, m))  # weights of all its other observations
        self.correction = np.zeros(m)  # their weighted losses, less Q times the plain ones
        self.Psi = factors.Psi(state)  # (m, d_eff)
        self.measure()

    # What a round does while the state stays.

    def add(self, losses: Array, count: Ints) -> None:
        """Count losses of the deployed state: means of `count` rounds, NaN where none was seen."""
        seen = np.flatnonzero(~np.isnan(losses))
        if seen.size == losses.size and (count == count[0]).all():
            self.full += int(count[0])
        elif seen.size:
            n, y = count[seen], losses[seen]
            W = self.noise.weights(seen, n)
            self.part[np.ix_(seen, seen)] += W
            if self.noise.precision is not None:
                self.correction[seen] += W @ y
                self.correction -= self.Q[:, seen] @ (n * y)
            self._schedule()

    def skip(self, rounds: int, seen: Ints | None) -> None:
        """Count rounds of the deployed state, seen by all or `seen` times."""
        common = rounds if seen is None else int(seen.min())
        rest = np.zeros(0) if seen is None else seen - common
        if rest.any():
            if self.noise.precision is not None:
                raise InvalidInput(
                    "jumps over rounds with gaps need to know which losses came together when "
                    "their noise is weighed by a covariance; use path='rounds'"
                )
            self.part += np.diag(rest)
            self._schedule()
        self.full += common

    @property
    def triggered(self) -> bool:
        """Whether the determinant has passed the factor since the clock was reset."""
        return self.full >= self._due

    def rounds_left(self) -> int:
        """Rounds until it does if everything is observed (or `NEVER`)."""
        left = max(self._due - self.full, 0)
        return left if left < NEVER // 2 else NEVER

    def _schedule(self) -> None:
        """n*: the rounds seen by everybody at which the determinant passes the factor."""
        G, growth = self.G, 0.0
        if self.part.any():
            seen = np.flatnonzero(self.part.diagonal() > 0.0)
            H = np.linalg.cholesky(self.part[np.ix_(seen, seen)])
            X = G[:, seen] @ H
            M = np.asarray(H.T @ X[seen], np.float64)
            growth = _log_det(M)
            G = G - X @ np.linalg.solve(np.eye(seen.size) + M, X.T)
        a = np.linalg.eigvalsh(self.root_Q.T @ G @ self.root_Q).clip(min=0.0)
        room = np.log(self.factor) + TIE - self.since - growth
        self._due = rounds_to_pass(a, float(room))

    # What happens when the state changes.

    def absorb(self, n: Ints, mean: Array, zero: Array | None = None) -> None:
        """Carry what was seen of the deployed state into V and b.

        `n` and `mean` are how often each criterion was seen, and its mean loss: (m,). `zero`
        are the losses that count as 0.
        """
        P = self.full * self.Q + self.part
        pull = self.Q @ (n * mean) + self.correction
        self._take(self.Psi, P, pull if zero is None else pull - P @ zero)
        self.full = 0
        self.part[:] = 0.0
        self.correction[:] = 0.0
        self.measure()

    def add_elsewhere(self, losses: Array, count: Ints, state: Array) -> None:
        """Add losses of another state, at once."""
        seen = np.flatnonzero(~np.isnan(losses))
        P, pull = np.zeros_like(self.part), np.zeros(losses.size)
        P[np.ix_(seen, seen)] = self.noise.weights(seen, count[seen])
        pull[seen] = P[np.ix_(seen, seen)] @ losses[seen]
        self._take(self.factors.Psi(state), P, pull)
        self.measure()

    def deploy(self, state: Array) -> None:
        """Observe from now on at `state`; everything seen before was absorbed."""
        self.Psi = self.factors.Psi(state)
        self.measure()

    def reset_clock(self) -> None:
        """tau becomes now: from the next `deploy` on the determinant is compared with its value."""
        self.since = 0.0

    def measure(self) -> None:
        """The estimated losses, G and the next trigger at the deployed state."""
        U, self.mean = _whitened(self.R, self.Psi)
        self.G = U @ U.T  # (m, m)
        self._schedule()

    def _take(self, Psi: Array, P: Array, pull: Array) -> None:
        """V += Psi' P Psi and b += Psi' pull: with P = H H' as many data as criteria seen."""
        seen = np.flatnonzero(P.diagonal() > 0.0)
        if seen.size:
            H = np.linalg.cholesky(P[np.ix_(seen, seen)])
            X = H.T @ Psi[seen]
            U, _ = _whitened(self.R, X)
            growth = _log_det(U @ U.T)
            self.gain += growth
            self.since += growth
            rows = np.column_stack((X, np.linalg.solve(H, pull[seen])))
            _add_data(self.R, rows)
            if self.prior is not None:
                _add_data(self.alone, rows)
                self.H += Psi.T @ P
                self.W += P
                self.T += pull

    # A prior.

    def start_at(self, ratio: float, sigma: float) -> None:
        """V starts at r K from now on, as if it always had; everything was absorbed."""
        if self.prior is not None:
            n = self.factors.dim + 1
            self.R[:] = self.prior.start(ratio, sigma)
            first = np.diag(unpack(self.R, 0, n))[:-1]
            _add_data(self.R, unpack(self.alone, 0, n).T)
            self.gain = float(2.0 * np.log(np.diag(unpack(self.R, 0, n))[:-1] / first).sum())
            self.measure()

    def data(self, seen: int, squares: float) -> JointData:
        """All that was seen, the number of losses, with their squares about the means of states."""
        A = unpack(self.alone, 0, self.factors.dim + 1)
        b = A[:-1, :-1] @ A[-1, :-1]
        c = float(A[-1] @ A[-1]) + squares
        return JointData(
            A=A[:-1, :-1] @ A[:-1, :-1].T, b=b, c=c, n=seen, H=self.H, W=self.W, T=self.T
        )

    # What the estimate says.

    @property
    def w(self) -> Array:
        """The estimate of all factors' parameters, as of the last flush: (d_eff,)."""
        A = unpack(self.R, 0, self.factors.dim + 1)
        return np.asarray(np.linalg.solve(A[:-1, :-1].T, A[-1, :-1]), np.float64)

    @property
    def V(self) -> Array:
        """The Gram matrix, as of the last flush: (d_eff, d_eff)."""
        A = unpack(self.R, 0, self.factors.dim + 1)
        return np.asarray(A[:-1, :-1] @ A[:-1, :-1].T)

    # Memory.

    @property
    def _arrays(self) -> tuple[str, ...]:
        return _ARRAYS if self.prior is None else _ARRAYS + _DATA

    def snapshot(self) -> dict[str, Any]:
        """Everything that changes, as plain arrays and scalars."""
        saved: dict[str, Any] = {name: getattr(self, name).copy() for name in self._arrays}
        return saved | {name: getattr(self, name) for name in _SCALARS}

    def restore(self, saved: Mapping[str, Any], state: Array) -> None:
        """Become what `snapshot` saw at the state; the arrays are known to fit."""
        for name in self._arrays:
            getattr(self, name)[:] = saved[name]
        self.full = int(saved["full"])
        self.gain, self.since = float(saved["gain"]), float(saved["since"])
        self.deploy(state)


def _log_det(M: Array) -> float:
    """log det (I + M) of a positive semidefinite M."""
    return float(np.log1p(np.linalg.eigvalsh(M).clip(min=0.0)).sum())


def rounds_to_pass(a: Array, room: float) -> int:
    """The least n with sum_i log(1 + n a_i) > room, 0 where nothing is left (or `NEVER`)."""
    if room <= 0.0:
        return 0
    low, high = 0, 1
    while np.log1p(high * a).sum() <= room:
        low, high = high, 2 * high
        if high >= NEVER:
            return NEVER
    while high - low > 1:
        middle = (low + high) // 2
        if np.log1p(middle * a).sum() > room:
            high = middle
        else:
            low = middle
    return high


def _whitened(R: Array, X: Array) -> tuple[Array, Array]:
    """u = R^{-1} x of every row x, and x' w: (rows, d) and (rows,)."""
    d = X.shape[1]
    A = unpack(R, 0, d + 1)
    U = np.asarray(np.linalg.solve(A[:d, :d], X.T).T, np.float64)
    return U, U @ A[d, :d]


def _add_data(R: Array, X: Array) -> None:
    """R R' + X' X takes the place of R R', by the QR factorisation of R' above X."""
    n = X.shape[1]
    upper = np.array(np.linalg.qr(np.vstack((unpack(R, 0, n).T, X)), mode="r"))
    upper *= np.where(np.diag(upper) < 0.0, -1.0, 1.0)[:, None]
    R[:] = upper.T[np.tril_indices(n)]
