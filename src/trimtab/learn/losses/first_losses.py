r"""The first losses of every criterion, kept one by one, and which of them are outliers.

Before the noise is known nothing tells an outlier from a noisy loss; when it is known the sums have
swallowed it. So the first losses are kept as they came, and at every look it is decided anew which
of them count. Given the noise sigma and the spread S, the losses y of one criterion, less what the
prior expects, are jointly normal with the covariance

    C = S^2 (Phi K^{-1} Phi' + c 1 1') + sigma^2 (N^{-1} + g T),    T_{st} = min(s, t),

where c makes the level unknown, N has the rounds of which each loss is the mean, and g is how far
the level wanders (`level`) between clocks s and t. Sigma has a log-normal prior around the typical
noise of all criteria, on a grid. The probability of loss j given the others follows from C^{-1}. It
is an outlier if that is less than the probability of a wild loss, of which `RARE` are expected, at
`WILD` times the noise. The most improbable loss is left out first, and the others are judged again
without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trimtab.arrays import Array, Bools, Ints
from trimtab.learn.prior import BoundPrior
from trimtab.learn.statistics import unpack

MOST, CRITERIA = 24, 1000  # tells that are kept, and criteria beyond which none are
FEWEST = 3  # losses of a criterion of which one may be an outlier; at most every third is
RARE, WILD = 0.02, 20.0  # the share of wild losses, and their deviation in units of the noise
MARGIN = 1.0  # by which the log odds must exceed 0
LEVEL = 10.0  # the deviation of an unknown level, in spreads
LOGS, LOGS_SD = np.linspace(-4.0, 3.0, 15), 1.0  # of the noise around the typical one
FAR = 4.0  # typical deviations from the smallest to the largest loss: less holds no outlier

_ENTRIES = ("states", "losses", "counts", "clocks", "epochs", "out")


class FirstLosses:
    """The losses of the first tells, the states they belong to, and which are left out."""

    def __init__(self, *, knobs: int, criteria: int) -> None:
        self.open = criteria <= CRITERIA  # whether they are kept, and all are here
        self.states = np.zeros((0, knobs))
        self.losses = np.zeros((0, criteria))
        self.counts = np.zeros((0, criteria), np.int64)
        self.clocks = np.zeros(0, np.int64)
        self.epochs = np.zeros(0, np.int64)  # entries of the diary before, -1 for another state
        self.out = np.zeros((0, criteria), bool)

    def add(self, losses: Array, count: Ints | int, state: Array, clock: int, epoch: int) -> None:
        """A tell. If it is one too many, nothing is kept any more."""
        if len(self.clocks) >= MOST:
            self.close()
            return
        gone = np.isnan(losses)
        entries = (state, losses, np.where(gone, 0, count), clock, epoch, np.zeros_like(gone))
        for name, entry in zip(_ENTRIES, entries, strict=True):
            before = getattr(self, name)
            setattr(self, name, np.concatenate((before, np.asarray(entry, before.dtype)[None])))

    def close(self) -> None:
        """Give them up: what was decided of them stays."""
        self.open = False
        for name in _ENTRIES:
            setattr(self, name, getattr(self, name)[:0])

    def judged(
        self,
        phi: Array,
        prior: BoundPrior,
        starts: tuple[Ints, Ints],
        spread: Array,
        typical: float,
        g: float,
        bend: int,
    ) -> Iterator[tuple[int, Ints]]:
        """The criteria that have outliers, or had some, and the tells that count.

        Args:
            phi: the features of all states, a row each.
            prior: what is believed of the losses.
            starts: where the features of each criterion, and its triangle, begin.
            spread: S of each criterion.
            typical: the noise, in units of the prior.
            g: how far levels wander.
            bend: which of the prior's roots.
        """
        seen, T = self.counts > 0, g * np.minimum.outer(self.clocks, self.clocks)
        low = np.where(seen, self.losses, np.inf).min(axis=0)
        high = np.where(seen, self.losses, -np.inf).max(axis=0)
        noise = typical * prior.unit
        doubtful = (high - low > FAR * noise) & (seen.sum(axis=0) >= FEWEST)
        logs = LOGS if prior.sigma is None else np.zeros(1)
        for i in np.flatnonzero(doubtful | self.out.any(axis=0)).tolist():
            rows, d = np.flatnonzero(seen[:, i]), int(prior.dims[i])
            L = unpack(prior.roots[bend], int(starts[1][i]), d + 1)
            Z = np.linalg.solve(L[:d, :d], phi[rows, starts[0][i] : starts[0][i] + d].T)
            y, level = self.losses[rows, i] - spread[i] * (L[d, :d] @ Z), 0.0
            if prior.constant[i] >= 0:
                y, level = y - np.median(y), LEVEL
            out = outliers(
                y,
                spread[i] ** 2 * (Z.T @ Z + level**2),
                np.diag(1.0 / self.counts[rows, i]) + T[np.ix_(rows, rows)],
                noise[i] * np.exp(logs),
                -0.5 * (logs / LOGS_SD) ** 2,
            )
            if out.any() or self.out[:, i].any():
                self.out[rows, i] = out
                yield i, rows[~out]

    # In a snapshot.

    def to_plain(self) -> dict[str, Any]:
        """Six arrays, with a row for each tell, and whether they are kept."""
        saved = {f"first.{name}": getattr(self, name).copy() for name in _ENTRIES}
        return saved | {"first.open": self.open}

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Become what `to_plain` saw."""
        self.open = bool(saved["first.open"])
        for name in _ENTRIES:
            before = getattr(self, name)
            kept = np.array(saved[f"first.{name}"], before.dtype)
            setattr(self, name, kept.reshape(-1, *before.shape[1:]))


def outliers(y: Array, signal: Array, noise: Array, sigma: Array, chance: Array) -> Bools:
    """Which losses of one criterion are outliers: (n,).

    Args:
        y: the losses less what the prior expects.
        signal: their covariance without noise, (n, n).
        noise: that of the noise, if sigma were 1.
        sigma: values of it that are tried,
        chance: and the log of how probable each is beforehand, but for a constant.

    >>> same, y = np.ones((6, 6)), np.array([5.0, 5.1, 4.9, 7.0, 5.1, 4.9])
    >>> outliers(y, 100.0 * same, np.eye(6), np.array([0.05, 0.1, 0.2]), np.zeros(3))
    array([False, False, False,  True, False, False])
    """
    out = np.zeros(y.size, bool)
    while FEWEST * (out.sum() + 1) <= y.size:
        kept = np.flatnonzero(~out)
        odds = _odds(y[kept], signal[np.ix_(kept, kept)], noise[np.ix_(kept, kept)], sigma, chance)
        worst = int(np.argmax(odds))
        if not odds[worst] > MARGIN:
            break
        out[kept[worst]] = True
    return out


def _odds(y: Array, signal: Array, noise: Array, sigma: Array, chance: Array) -> Array:
    """The log odds that each loss is a wild one, given the others: (n,)."""
    C = signal + sigma[:, None, None] ** 2 * noise
    inverse = np.linalg.inv(C)
    a, w = inverse @ y, np.einsum("sii->si", inverse)  # (sigmas, n)
    off, variance = a / w, 1.0 / w  # of each loss, given the others
    each = _log_normal(off, variance)
    together = (chance - 0.5 * (np.linalg.slogdet(C)[1] + a @ y))[:, None]
    others = together - each  # their log probability, by sigma
    known = np.logaddexp.reduce(others, axis=0)
    usual = np.logaddexp.reduce(together, axis=0) - known
    broad = variance + (WILD * sigma[:, None]) ** 2
    wild = np.logaddexp.reduce(others - known + _log_normal(off, broad), axis=0)
    return np.asarray(np.log(RARE) + wild - usual)


def _log_normal(x: Array, variance: Array) -> Array:
    """The log density of normal numbers, but for a constant."""
    return np.asarray(-0.5 * (np.log(variance) + x**2 / variance))
