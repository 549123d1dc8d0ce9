"""What the first experiment shows, in sentences made of its own numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trimtab.paper.experiment import ratios

if TYPE_CHECKING:
    from trimtab.paper.single_clique.result import SingleClique


def remarks(result: SingleClique) -> list[str]:
    """A paragraph per finding."""
    return [_domains(result), _laws(result), _regret(result), _growth(result), _start(result)]


def _domains(result: SingleClique) -> str:
    law = result.spec.laws[0]
    parts = []
    for domain in result.spec.domains:
        columns = result.columns[domain, law]
        ratio = np.mean(ratios(columns["standard"], columns["lazy"]))
        parts.append(
            f"on the unit {domain} standard LinUCB moves {columns['standard'].mean():.1f} and "
            f"Algorithm 1 {columns['lazy'].mean():.1f}, a ratio of {ratio:.2f}"
        )
    runs = [
        run for (domain, _), runs in result.played.items() for run in runs if domain == "square"
    ]
    cornered = sum(run.at_corners for run in runs)
    return (
        f"The set of actions decides. With theta* on the sphere, {'; '.join(parts)}. On the "
        "square a linear lower bound has its minimum at a corner: in "
        f"{cornered} of {len(runs)} runs there every state played was one, so that small changes "
        "of the estimate move nothing. On the circle every change of the estimate turns the "
        "minimiser a little."
    )


def _laws(result: SingleClique) -> str:
    circle = {law: c for (domain, law), c in result.columns.items() if domain == "circle"}
    parts = [
        f"{law} {c['standard'].mean():.1f} and {c['lazy'].mean():.1f}" for law, c in circle.items()
    ]
    spread = max(c["standard"].std(ddof=1) for c in circle.values())
    return (
        "The law of theta* matters as much, and is not stated. On the circle, standard and lazy: "
        f"{'; '.join(parts)}. Single runs of standard LinUCB differ by a standard deviation of up "
        f"to {spread:.1f}. A law that fits is one that fits, not the one that was used."
    )


def _regret(result: SingleClique) -> str:
    against = []
    for (domain, law), c in result.columns.items():
        gap = c["regret_lazy"] - c["regret_standard"]
        error = gap.std(ddof=1) / np.sqrt(gap.size)
        if abs(gap.mean()) > 3.0 * error:
            more = "more" if gap.mean() > 0 else "less"
            against.append(f"{domain}, theta* {law}: {abs(gap.mean()):.1f} {more}")
    c = result.columns["circle", result.spec.laws[0]]
    equal, settings = len(result.columns) - len(against), len(result.columns)
    exceptions = f" Exceptions: {'; '.join(against)}." if against else ""
    return (
        f"Regret: on the circle with theta* on the sphere {c['regret_standard'].mean():.1f} for "
        f"standard LinUCB and {c['regret_lazy'].mean():.1f} for Algorithm 1. In "
        f"{equal} of {settings} settings the difference is within three standard errors of zero."
        f"{exceptions} Runs differ much from each other, so this is a weak statement about a small "
        "difference."
    )


def _growth(result: SingleClique) -> str:
    spec = result.spec
    parts = []
    for domain, runs in result.long.items():
        early, late = (np.mean([run.movement[0, t] for run in runs]) for t in (spec.rounds, -1))
        power = result.growth(domain).mean()
        parts.append(f"{early:.1f} to {late:.1f} on the {domain}, a power {power:.2f} of T")
    return (
        f"Standard LinUCB's movement grows from T = {spec.rounds:,} to T = {spec.long_rounds:,} "
        f"from {' and from '.join(parts)} ({len(runs)} runs). A unique optimum and sub-linear "
        "regret leave no room for linear movement."
    )


def _start(result: SingleClique) -> str:
    return (
        "To the letter, Algorithm 1 keeps its first state until a determinant has doubled. From "
        f"the zero vector it then moves {result.stuck:.1f} in {result.spec.rounds} rounds: its "
        "features have length 0 there, so it never learns anything. All runs above look once "
        "before the first round."
    )
