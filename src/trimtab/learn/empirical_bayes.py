r"""How much losses change over the box, and how noisy they are: learned from what was seen.

Given r_i = (sigma_i / S_i)^2 a criterion's n losses y, at features Phi, are jointly normal. With
the data-only sums A = Phi' Phi and b = Phi' y of its regression, K = L L' of its prior, the
eigenvalues lambda of L^{-1} A L^{-T} and the coordinates g of L^{-1} b in its eigenvectors,

    -2 log p(y) = n log sigma^2 + sum log(1 + lambda / r) + (c - sum g^2 / (r + lambda)) / sigma^2,

where c is the sum of all squared losses. One spread S is common to all criteria, in their units;
every criterion has a sigma of its own. Both have weak log-normal priors: of the spread around a
multiple of the typical noise, of a noise around that of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.learn.prior import BoundPrior, Prior
from trimtab.learn.statistics import Statistics

SPREAD, SPREAD_SD = 12.0, 1.2  # of the spread, in units of the typical noise, and of its log
BEND_SD = 0.6  # of the log of how much losses bend beyond a quadratic
NOISE_SD = 2.0  # of the log of a noise around the typical one
SPREADS = np.linspace(-4.0, 4.0, 33)  # logs that are tried, around the expected spread
NOISES = np.linspace(-1.5, 1.5, 13)  # and around the last noise
QUIET = 1e-3  # of the typical noise: no criterion is taken for less noisy
PIECE = 256  # criteria at a time


@dataclass(frozen=True, eq=False)
class Scales:
    """What was learned."""

    spread: Array  # (m,) S_i
    sigma: Array  # (m,)
    doubt: float  # the standard deviation of the log of the common spread
    bend: int  # which factor of the prior's roots

    @property
    def ratio(self) -> Array:
        """r_i = (sigma_i / S_i)^2: (m,)."""
        return np.asarray((self.sigma / self.spread) ** 2)


def learned(
    stats: Statistics, data: Array, prior: BoundPrior, last: Array | None, lost: Array
) -> Scales:
    """Spread and noise of all criteria.

    Args:
        stats: the counts, and the pure error.
        data: the data-only factors, laid out as those of the stats.
        prior: what is known of them, and their units.
        last: the noise as it was learned before, (m,), or None.
    """
    guess = _guess(stats, prior) if last is None else last
    typical = float(np.median(guess / prior.unit))
    spreads = SPREAD * typical * np.exp(SPREADS)  # in units
    fits = [_fit(stats, data, lost, prior, roots, guess, spreads, typical) for roots in prior.roots]
    likely = np.array([np.logaddexp.reduce(total) for total, _ in fits])
    bend = int(np.argmax(likely - 0.5 * (np.log(prior.bends) / BEND_SD) ** 2))
    total, tables = fits[bend]
    chance = np.exp(total - total.max())
    chance /= chance.sum()
    logs = np.log(spreads)
    middle = float(chance @ logs)
    doubt = float(np.sqrt(chance @ (logs - middle) ** 2))
    sigma = np.empty(guess.size)
    best = int(np.argmin(np.abs(logs - middle)))
    for criteria, table in tables:
        share = np.exp(table[:, best] - table[:, best].max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        squares = (guess[criteria, None] * np.exp(NOISES)) ** 2
        sigma[criteria] = np.sqrt((share * squares).sum(axis=1))
    sigma = np.maximum(sigma, QUIET * typical * prior.unit)
    spread = np.exp(middle) * prior.unit
    return Scales(
        spread=spread if prior.spread is None else prior.spread,
        sigma=sigma if prior.sigma is None else prior.sigma,
        doubt=0.0 if prior.spread is not None and prior.sigma is not None else doubt,
        bend=bend,
    )


def _fit(
    stats: Statistics,
    data: Array,
    lost: Array,
    prior: BoundPrior,
    roots: Array,
    guess: Array,
    spreads: Array,
    typical: float,
) -> tuple[Array, list[tuple[Ints, Array]]]:
    """The log of the chance of each spread, and the tables that it is made of, with one bend."""
    total = -0.5 * (SPREADS / SPREAD_SD) ** 2
    tables = []
    for criteria, spectrum in _spectra(stats, data, lost, prior, roots):
        table = _table(spectrum, guess[criteria], spreads, typical, prior, criteria)
        total += np.logaddexp.reduce(table, axis=2).sum(axis=0)
        tables.append((criteria, table))
    return total, tables


def _guess(stats: Statistics, prior: BoundPrior) -> Array:
    """A first noise of each criterion, from the losses of one state; of the others if unseen."""
    if prior.sigma is not None:
        return prior.sigma
    seen = (stats.pure_df > 0) & (stats.pure_error > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.sqrt(stats.pure_error / stats.pure_df)
    typical = np.exp(np.mean(np.log(each[seen] / prior.unit[seen]))) if seen.any() else 1.0
    return np.maximum(np.where(seen, each, typical * prior.unit), QUIET * typical * prior.unit)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """What the likelihood of some criteria depends on."""

    values: Array  # (g, d) lambda
    coordinates: Array  # (g, d) of the losses
    mean: Array  # (g, d) and of the prior's mean, for a spread of 1
    total: Array  # (g,) c
    n: Array  # (g,)


def _spectra(
    stats: Statistics, data: Array, lost: Array, prior: BoundPrior, roots: Array
) -> list[tuple[Ints, Spectrum]]:
    """The spectra of criteria of equal dimension, some at a time.

    The level of a loss says nothing of its spread: where a criterion has a constant feature, only
    differences between states count, as if its level were wholly unknown.
    """
    dims = np.diff(stats.offsets)
    found = []
    for d in np.unique(dims).tolist():
        alike = np.flatnonzero(dims == d)
        for first in range(0, alike.size, PIECE):
            criteria = alike[first : first + PIECE]
            L = _triangles(roots, stats.blocks[criteria], d)[:, :d, :d]
            R = _triangles(data, stats.blocks[criteria], d)
            A = R @ R.transpose(0, 2, 1)
            n = stats.seen[criteria].astype(np.float64)
            level = prior.constant[criteria]
            known = np.flatnonzero((level >= 0) & (n > 0))
            column = A[known, :, level[known]]
            weight = column[np.arange(known.size), level[known]]
            A[known] -= column[:, :, None] * column[:, None, :] / weight[:, None, None]
            n[known] -= 1.0
            n = np.maximum(n - lost[criteria], 0.0)
            X = np.linalg.solve(L, A[:, :d, :d])
            values, Q = np.linalg.eigh(np.linalg.solve(L, X.transpose(0, 2, 1)))
            g = np.einsum("gji,gj->gi", Q, np.linalg.solve(L, A[:, :d, d, None])[:, :, 0])
            c = np.maximum(A[:, d, d], 0.0) + stats.pure_error[criteria]
            mine = stats.offsets[criteria][:, None] + np.arange(d)
            h = np.einsum("gji,gkj,gk->gi", Q, L, prior.mean[mine])
            found.append((criteria, Spectrum(np.maximum(values, 0.0), g, h, c, n)))
    return found


def _triangles(packed: Array, starts: Ints, d: int) -> Array:
    """The lower triangles of (d + 1) rows that begin at these places: (g, d + 1, d + 1)."""
    rows, columns = np.tril_indices(d + 1)
    found = np.zeros((starts.size, d + 1, d + 1))
    found[:, rows, columns] = packed[starts[:, None] + np.arange(rows.size)]
    return found


def _table(
    spectrum: Spectrum,
    guess: Array,
    spreads: Array,
    typical: float,
    prior: BoundPrior,
    criteria: Ints,
) -> Array:
    """The log likelihood of each criterion by spread and noise: (g, spreads, noises)."""
    unit = prior.unit[criteria]
    sigma = guess[:, None] * np.exp(NOISES)  # (g, noises)
    if prior.sigma is not None:
        sigma = np.repeat(guess[:, None], NOISES.size, axis=1)
    S = unit[:, None] * spreads  # (g, spreads)
    if prior.spread is not None:
        S = np.repeat(prior.spread[criteria, None], spreads.size, axis=1)
    r = (sigma[:, None, :] / S[:, :, None]) ** 2
    values, g, h = (x[:, None, :] for x in (spectrum.values, spectrum.coordinates, spectrum.mean))
    S = S[:, :, None]
    squares = (g - S * values * h) ** 2  # of the losses less their mean, as is the total
    total = spectrum.total[:, None] + (S * h * (S * values * h - 2.0 * g)).sum(axis=-1)
    values, squares = values[:, :, None, :], squares[:, :, None, :]
    logdet = np.log1p(values / r[..., None]).sum(axis=-1)
    fit = (squares / (r[..., None] + values)).sum(axis=-1)
    left = np.maximum(total[:, :, None] - fit, 0.0)
    variance = sigma[:, None, :] ** 2
    n = spectrum.n[:, None, None]
    found = -0.5 * (n * np.log(variance) + logdet + left / variance)
    around = np.log(sigma / unit[:, None] / typical) / NOISE_SD
    return np.asarray(found - 0.5 * around[:, None, :] ** 2)


# In a snapshot: NaN stands for what is learned, and for what was not learned yet.


def prior_to_plain(prior: BoundPrior) -> dict[str, Any]:
    """What the prior was told, as plain arrays."""
    nothing = np.full(prior.unit.size, np.nan)
    told = {name: getattr(prior, name) for name in ("spread", "sigma", "least")}
    return {f"prior.{name}": (nothing if x is None else x).copy() for name, x in told.items()}


def scales_to_plain(prior: BoundPrior, scales: Scales | None) -> dict[str, Any]:
    """What was learned, as plain scalars and arrays."""
    nothing = np.full(prior.unit.size, np.nan)
    return {
        "learned.spread": nothing if scales is None else scales.spread.copy(),
        "learned.sigma": nothing.copy() if scales is None else scales.sigma.copy(),
        "learned.doubt": np.inf if scales is None else scales.doubt,
        "learned.bend": 0 if scales is None else scales.bend,
    }


def prior_from_plain(saved: Mapping[str, Any]) -> Prior:
    """The prior that `prior_to_plain` saw."""
    told = {name: np.array(saved[f"prior.{name}"]) for name in ("spread", "sigma", "least")}
    return Prior(**{name: None if np.isnan(x).any() else x for name, x in told.items()})


def scales_from_plain(saved: Mapping[str, Any]) -> Scales | None:
    """The scales that `scales_to_plain` saw."""
    spread, sigma = (np.array(saved[f"learned.{name}"]) for name in ("spread", "sigma"))
    if np.isnan(spread).any():
        return None
    return Scales(spread, sigma, float(saved["learned.doubt"]), int(saved["learned.bend"]))
