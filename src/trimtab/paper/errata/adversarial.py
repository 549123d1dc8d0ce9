"""Counterexamples to Section 6: randomised lazy gradient descent."""

from __future__ import annotations

import numpy as np

from trimtab.paper.errata.entry import Finding


def mean_lag() -> Finding:
    """A coin of probability 1/2: how old the deployed state is on average."""
    p = 0.5
    lag = float(sum(n * p * (1.0 - p) ** n for n in range(200)))
    return Finding(
        claimed=1.0 / p,
        found=lag,
        holds=abs(lag - (1.0 - p) / p) < 1e-12,
        text=f"it is (1 - p) / p = {lag:g}, printed 1 / p = {1 / p:g}",
    )


def movement_at_full_budget() -> Finding:
    """One knob, losses +s and -s in turn, M = T = 10^6: the length of the path."""
    T, G, D = 10**6, 1.0, 1.0
    eta = D / (G * np.sqrt(2.0 * T))
    state, path = 0.5, 0.0
    signs = np.where(np.random.default_rng(0).random(T) < 0.5, 1.0, -1.0)
    for sign in signs.tolist():
        after = min(max(state - eta * sign, 0.0), 1.0)
        path += abs(after - state)
        state = after
    bound = eta * G * T
    return Finding(
        claimed=D * T,
        found=path,
        holds=path <= bound < 0.01 * T,
        text=f"the path has length {path:,.0f}, at most eta G T = {bound:,.0f}, printed {T:,}",
    )


def best_trade_off() -> Finding:
    """One knob, lambda = 1, T = 10^6: loss and movement bounds at M = T and at M = T^(2/3)."""
    T = 10.0**6
    full = np.sqrt(T) + np.sqrt(T)  # D G sqrt(T), and the path eta G T for eta = D / (G sqrt(T))
    M = T ** (2.0 / 3.0)
    budget = np.sqrt(2.0 * T / M - 1.0) * np.sqrt(T)
    return Finding(
        claimed=float(budget),
        found=float(full),
        holds=full < 0.25 * budget,
        text=f"losses and movement together are at most {full:,.0f} at M = T; at M = T^(2/3) the "
        f"bound "
        f"on the losses alone is {budget:,.0f}",
    )


def switching_probability() -> Finding:
    """Price per unit of movement, not per switch: the bound at p = 1/4, 1/2 and 1."""
    T, price, D, G = 10.0**4, 1.0, 1.0, 1.0

    def total(p: float) -> float:
        eta = D / (G * np.sqrt(T * (2.0 / p - 1.0)))
        return float(D * G * np.sqrt(T * (2.0 / p - 1.0)) + price * eta * G * T)

    found = [total(p) for p in (0.25, 0.5, 1.0)]
    return Finding(
        claimed=0.5,
        found=1.0,
        holds=found[0] > found[1] > found[2],
        text="it is " + ", ".join(f"{x:.0f}" for x in found) + ": switching in every round is best",
    )
