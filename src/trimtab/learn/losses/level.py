r"""Levels that wander: losses go up and down with the hours, wherever the knobs are.

A loss is a level, the same at all states, and a part that depends on the knobs. Here the level of
criterion i is a random walk: from one round to the next it moves by a normal step of variance
g sigma_i^2, with one g for all criteria. For the regression that is the prediction step of a
Kalman filter. The covariance of the estimate is sigma_i^2 V^{-1}, and phi_0, the constant feature,
comes first, so that after n rounds

    V^{-1} <- V^{-1} + (n g / phi_0^2) e_0 e_0',    e_0 = (1, 0, ..., 0)'.

In the lower factor R of V this shrinks the first column and nothing else:

    R_{r0} <- R_{r0} / sqrt(1 + n g R_00^2 / phi_0^2)    for all rows r.

The estimate stays. Old losses say less about the level of today, but as much as ever about the
difference between two states that were played one soon after the other.

How far levels wander is learned. A *diary* keeps the last epochs of some criteria. For each g of
a grid a Kalman filter predicts every epoch of the diary from those before it, and the likelihood
of these predictions tells which g fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.learn.empirical_bayes import Scales
from trimtab.learn.statistics import Statistics
from trimtab.model.bases.features import spans

GRID = np.array([0.0, 0.01, 0.04, 0.16, 0.64])  # g: steps of a round, in variances of one loss
CHANCE = np.array([0.5, 0.1, 0.1, 0.15, 0.15])  # the probability of each before anything is seen
CRITERIA, EPOCHS = 64, 64  # in the diary, at most
MISSED = 0.03  # of the spread: by how much the basis may miss the mean loss of an epoch
FAR = 9.0  # squared standard deviations: an epoch that is farther off counts as this

_ENTRIES = ("phi", "n", "losses", "rounds")


class Diary:
    """The last epochs of some criteria: features, how often they were observed, mean losses."""

    def __init__(self, stats: Statistics) -> None:
        m = stats.seen.size
        self._criteria: Ints = np.unique(np.linspace(0, m - 1, min(m, CRITERIA)).astype(np.int64))
        dims = np.diff(stats.offsets)[self._criteria]
        self._features = spans(stats.offsets[self._criteria], dims)
        s = self._criteria.size
        self._phi = np.zeros((0, self._features.size))
        self._n, self._losses = np.zeros((0, s)), np.zeros((0, s))
        self._rounds = np.zeros(0)  # since the entry before

    def write(self, n: Ints, losses: Array, phi: Array, rounds: int) -> None:
        """An epoch has ended.

        Args:
            n: how often each criterion was observed in it, (m,).
            losses: their means, (m,).
            phi: the features of the state that was played.
            rounds: how many have passed since the last entry.
        """
        mine = self._criteria
        entries = (
            phi[self._features],
            n[mine].astype(np.float64),
            losses[mine],
            np.array(float(rounds)),
        )
        for name, entry in zip(_ENTRIES, entries, strict=True):
            before = getattr(self, f"_{name}")
            setattr(self, f"_{name}", np.concatenate((before, entry[None]))[-EPOCHS:])

    @property
    def epochs(self) -> int:
        """How many it has."""
        return self._rounds.size

    def correct(self, criterion: int, epochs: Ints, n: Ints, losses: Array) -> None:
        """The first epochs of a criterion had these losses alone, means of n rounds each.

        Those of the present epoch are not in the diary yet, and are left for later.
        """
        place = int(np.searchsorted(self._criteria, criterion))
        if place == self._criteria.size or self._criteria[place] != criterion:
            return
        E = self.epochs
        count = np.bincount(epochs, n, minlength=E)[:E]
        total = np.bincount(epochs, n * losses, minlength=E)[:E]
        self._n[:, place], self._losses[:, place] = count, total / np.maximum(count, 1.0)

    def wander(self, stats: Statistics, scales: Scales) -> float:
        """The mean of g, given the diary; spread and noise count as known."""
        if self._rounds.size < 2:
            return 0.0
        mine = self._criteria
        offset = stats.offset[mine] if stats.offset.size else 0.0
        found = stats.core.likelihood(
            criteria=mine,
            phi=self._phi,
            n=self._n,
            losses=self._losses - offset,
            rounds=self._rounds,
            sigma=scales.sigma[mine],
            misfit=MISSED * scales.spread[mine],
            grid=GRID,
            far=FAR,
        )
        total = found + np.log(CHANCE)
        share = np.exp(total - total.max())
        return float(share @ GRID / share.sum())

    # In a snapshot.

    def to_plain(self) -> dict[str, Any]:
        """Four arrays, with a row for each epoch."""
        return {f"diary.{name}": getattr(self, f"_{name}").copy() for name in _ENTRIES}

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Become what `to_plain` saw."""
        for name in _ENTRIES:
            rows = getattr(self, f"_{name}").shape[1:]
            setattr(self, f"_{name}", np.array(saved[f"diary.{name}"]).reshape(-1, *rows))
