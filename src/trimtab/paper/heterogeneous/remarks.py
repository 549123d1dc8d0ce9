"""What the second experiment shows, in sentences made of its own numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trimtab.paper.experiment import ratios

if TYPE_CHECKING:
    from trimtab.paper.heterogeneous.result import Heterogeneous


def remarks(result: Heterogeneous) -> list[str]:
    """A paragraph per finding."""
    return [_async(result), _global(result), _movement(result), _standard(result)]


def _async(result: Heterogeneous) -> str:
    circle, square = (result.updates(domain, "async") for domain in ("circle", "square"))
    return (
        "Asynchronous updates, from the least stiff clique to the stiffest: on the circle "
        f"{_each(circle.mean(axis=0))}, {circle.sum(axis=1).mean():.0f} in all; on the square "
        f"{_each(square.mean(axis=0))}, {square.sum(axis=1).mean():.0f} in all. They depend on the "
        "set of actions and on T, which the paper does not state."
    )


def _global(result: Heterogeneous) -> str:
    cliques = len(result.spec.stiffness)
    parts = []
    for domain in reversed(result.spec.domains):
        local = result.updates(domain, "async").sum(axis=1)
        printed, ringing = (result.solves(domain, rule) for rule in ("global", "ringing"))
        parts.append(
            f"on the {domain} {printed.mean():.1f} updates, {cliques * printed.mean():.0f} counted "
            f"for every clique and {np.mean(ratios(cliques * printed, local)):.1f} times the "
            f"asynchronous count; with only the ringing clocks reset {ringing.mean():.1f}, a ratio "
            f"of {np.mean(ratios(cliques * ringing, local)):.1f}"
        )
    return (
        "Algorithm 1 as printed resets every clock at every update, so that a clique must double "
        f"anew after each: {'; '.join(parts)}. Which settings, if any, explain both columns of "
        "the paper's table at once is said above."
    )


def _movement(result: Heterogeneous) -> str:
    parts = []
    for domain in reversed(result.spec.domains):
        above, below = (result.movement(domain, policy) for policy in ("global", "async"))
        parts.append(
            f"on the {domain} {above.mean():.1f} against {below.mean():.1f}, a ratio of "
            f"{np.mean(ratios(above, below)):.2f}"
        )
    return (
        "Updates are not movement. The l1 movement of the global and of the asynchronous schedule "
        f"is {'; '.join(parts)}."
    )


def _standard(result: Heterogeneous) -> str:
    runs = result.played["circle", "standard"]
    movement = result.movement("circle", "standard")
    lazy = result.movement("circle", "global")
    half = np.mean([run.movement[result.spec.rounds // 2] for run in runs]) / movement.mean()
    return (
        f"Standard LinUCB, on the circle, moves {movement.mean():.0f} in {len(runs)} runs, "
        f"{movement.mean() / lazy.mean():.1f} times as far as the global schedule. "
        f"{100 * half:.0f} % of it happens in the first half of the rounds."
    )


def _each(means: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    return " ".join(f"{x:.1f}" for x in means)
