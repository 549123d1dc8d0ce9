"""Counterexamples to Section 4: radii, epochs, Theorem 1 and its corollaries."""

from __future__ import annotations

import numpy as np

from trimtab import theory
from trimtab.paper.errata.entry import Finding


def radius_of_one_dimension() -> Finding:
    """One criterion, one feature that is always 1: how often the ellipsoid fails, delta = 0.01."""
    delta, paths, rounds = 0.01, 4000, 2000
    rng = np.random.default_rng(0)
    t = np.arange(1, rounds + 1)
    # |theta_hat - theta| in V is |S_t| / sqrt(1 + t) for theta = 0, S_t the sum of the noise.
    printed = np.log((1.0 + t) / delta)  # beta^2 for sigma = 1, norm = 0, reg = 1
    right = np.log(1.0 + t) + 2.0 * np.log(1.0 / delta)
    failed = corrected = 0
    for _ in range(paths // 500):
        S = np.cumsum(rng.standard_normal((500, rounds)), axis=1)
        off = S**2 / (1.0 + t)
        failed += int((off > printed).any(axis=1).sum())
        corrected += int((off > right).any(axis=1).sum())
    rate, fixed = failed / paths, corrected / paths
    limit = delta + 5.0 * np.sqrt(delta / paths)
    return Finding(
        claimed=delta,
        found=rate,
        holds=rate > limit and fixed <= limit,
        text=f"fails in {100 * rate:.1f} % of {paths:,} runs of {rounds:,} rounds (in the limit "
        f"sqrt(delta) = 10 %); the corrected radius in {100 * fixed:.2f} %",
    )


def radii_of_ten_criteria() -> Finding:
    """Ten criteria, two features each, isolated: how often some ellipsoid fails, delta = 0.1."""
    delta, k, d, runs, rounds = 0.1, 10, 2, 400, 200
    rng = np.random.default_rng(0)
    failed = corrected = 0
    for _ in range(runs):
        V, b, bad, still = np.tile(np.eye(d), (k, 1, 1)), np.zeros((k, d)), False, False
        for t in range(1, rounds + 1):
            phi = np.eye(d)[rng.integers(d, size=k)]
            V += phi[:, :, None] * phi[:, None, :]
            b += phi * rng.standard_normal((k, 1))
            off = (b**2 / np.diagonal(V, axis1=1, axis2=2)).sum(axis=1)  # theta = 0
            bad |= bool((off > d * np.log((1.0 + t) / delta)).any())
            gain = np.log(np.diagonal(V, axis1=1, axis2=2)).sum(axis=1)
            still |= bool((off > gain + 2.0 * np.log(k / delta)).any())
        failed += bad
        corrected += still
    rate = failed / runs
    return Finding(
        claimed=delta,
        found=rate,
        holds=rate > delta + 5.0 * np.sqrt(delta / runs) and corrected / runs <= delta,
        text=f"some ellipsoid fails in {100 * rate:.0f} % of {runs} runs of {rounds} rounds; with "
        f"the corrected radius in {100 * corrected / runs:.1f} %",
    )


def epoch_error() -> Finding:
    """One feature that is always 1 and reg = 0.1: the error of the first epoch."""
    reg, n = 0.1, 0
    while reg + n <= 2.0 * reg:
        n += 1
    S = n / reg
    allowed = float(theory.epoch_spread(reg=reg)[0])
    return Finding(
        claimed=3.0,
        found=S,
        holds=S > 3.0 and allowed >= S,
        text=f"the first epoch has {n} round and S = {S:g}; the corrected bound is {allowed:g}",
    )


def epochs_of_others() -> Finding:
    """Two criteria with features 1 and 1/2: the second never triggers, and has widths."""
    T = 10**6
    V, tau, triggers, widths, t = np.ones(2), np.ones(2), np.zeros(2, int), 0.0, 0
    phi = np.array([1.0, 0.5])
    while t < T:
        n = int(np.min(np.floor(tau / phi**2 * 1.0))) + 1  # V_1 > 2 tau_1 comes first
        n = min(n, T - t)
        widths += n * phi[1] / np.sqrt(tau[1])
        V = V + n * phi**2
        triggers += 2.0 * tau < V
        tau, t = V.copy(), t + n
    bound = float(np.sqrt(3.0 * triggers[1] * T))
    gain = float(np.log(V[1]))
    c = float(theory.potential_constant(reg=1.0, bound=0.5)[0])
    right = float(np.sqrt(c * T * gain))
    return Finding(
        claimed=bound,
        found=widths,
        holds=bool(triggers[1] == 0) and widths > bound and widths <= right,
        text=f"M_2 = 0, so that the printed sum of widths is 0; after {T:,} rounds it is "
        f"{widths:,.0f} = {widths / np.sqrt(T):.2f} sqrt(T), and the corrected bound {right:,.0f}",
    )


def cold_start() -> Finding:
    """phi(s) = s, started at s = 0: nothing is ever learned."""
    T, V, regret = 10_000, 1.0, 0.0
    for _ in range(T):
        state = 0.0  # the trigger V > 2 is never met
        V += state**2
        regret += 0.0 - (-1.0)  # theta = -1, best at s = 1
    return Finding(
        claimed=float(np.sqrt(T)),
        found=regret,
        holds=V == 1.0 and regret == T,
        text=f"det V stays {V:g}, and the regret after {T:,} rounds is {regret:,.0f} = T",
    )


def natural_logarithm() -> Finding:
    """One feature that is always 1, reg = 1, T = 10^6: the number of epochs."""
    T, V, epochs, tau = 10**6, 1, 0, 1
    for _ in range(T):
        V += 1
        if 2 * tau < V:
            tau, epochs = V, epochs + 1
    claimed = theory.printed_misspecified_epochs([1], T, reg=1.0)
    right = theory.max_epochs([1], T, reg=1.0)
    return Finding(
        claimed=claimed,
        found=epochs,
        holds=claimed < epochs <= right,
        text=f"M = {epochs}, the printed bound is {claimed:.1f}, with base 2 it is {right:.1f}",
    )


def features_that_are_not_nested() -> Finding:
    """A cosine of one knob in 20 random Fourier features of two knobs."""
    rng = np.random.default_rng(0)
    s = rng.random((2000, 2))
    omega = rng.normal(size=(10, 2)) / 0.3
    X = np.hstack((np.cos(s @ omega.T), np.sin(s @ omega.T)))
    y = np.cos(s[:, 0] / 0.05)  # a feature of the smaller neighbourhood
    left = y - X @ np.linalg.lstsq(X, y, rcond=1e-10)[0]
    share = float(left.var() / y.var())
    return Finding(
        claimed=0.0,
        found=share,
        holds=share > 0.01,
        text=f"{100 * share:.0f} % of its variance is left by the best fit",
    )


def summed_feedback() -> Finding:
    """A clique of 50 linear criteria: node-wise widths against those of the sum."""
    m, T, sigma, delta = 50, 10_000, 1.0, 0.05
    gain = m * np.log1p(T / m)  # log det of one criterion: all have the same features
    node = m * (sigma * np.sqrt(gain + 2 * np.log(m / delta)))
    pooled = np.sqrt(m) * sigma * np.sqrt(gain + 2 * np.log(1 / delta))
    ratio = float(node / pooled)
    return Finding(
        claimed=1.0,
        found=ratio,
        holds=ratio > 7.0,
        text=f"the confidence width of the sum is {ratio:.1f} times smaller, so that its regret "
        f"is of "
        "the order m^1.5 sqrt(T) where the theorem's order is m^2 sqrt(T)",
    )


def discounted_trigger() -> Finding:
    """One feature that is always 1, reg = 1, discount 0.99: the determinant test."""
    g, V, tau, looks, last, T = 0.99, 1.0, 1.0, 0, 0, 20_000
    for t in range(1, T + 1):
        V = g * V + (1.0 - g) + 1.0
        if 2.0 * tau < V:
            tau, looks, last = V, looks + 1, t
    return Finding(
        claimed=float(T),
        found=float(last),
        holds=last < 1000,
        text=f"V tends to {1 + 1 / (1 - g):.0f}: {looks} looks, the last in round {last}, and "
        f"none in "
        f"the {T - last:,} rounds after it",
    )
