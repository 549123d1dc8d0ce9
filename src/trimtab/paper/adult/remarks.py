"""What the third experiment shows, in sentences made of its own numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from trimtab.paper.adult.result import AdultThreshold


def remarks(result: AdultThreshold) -> list[str]:
    """A paragraph per finding."""
    return [_domain(result), _search(result), _fit(result), _price(result)]


def _domain(result: AdultThreshold) -> str:
    parts = [
        f"{name}: {found['movement_standard'].mean():.1f} and {found['movement_lazy'].mean():.2f}, "
        f"ending at {found['end_standard'].mean():.2f} and {found['end_lazy'].mean():.2f}"
        for name, found in result.columns.items()
    ]
    return (
        "Movement of standard LinUCB and of Algorithm 1, and where they end. "
        f"{'; '.join(parts)}. With reg 5 the parabola is shrunk and its features are longest at "
        "the upper end, so that both policies go to the upper end of whatever they are given. A "
        "setting that fits is one that fits, not the one that was used."
    )


def _search(result: AdultThreshold) -> str:
    name, runs = next(iter(result.played.items()))
    early = min(60, runs[0].threshold.shape[1])
    share = np.mean([run.movement[0, early] / run.movement[0, -1] for run in runs])
    return (
        f"In the setting {name}, {share:.0%} of standard LinUCB's movement happens in the first "
        f"{early} rounds: it is search, not a reaction to noise."
    )


def _fit(result: AdultThreshold) -> str:
    bad = [f"{fit.degree}" for fit in result.fits if fit.rejected]
    good = [f"{fit.degree}" for fit in result.fits if not fit.rejected]
    losses = ", ".join(f"{loss:.3f} at {x:g}" for x, loss in result.losses.items())
    said = f"rejects the degrees {', '.join(bad)}" if bad else "rejects none of the degrees tried"
    kept = f" and keeps {', '.join(good)}" if good else ""
    return (
        f"The loss is {losses}; it is least at {result.best:.2f}. No parabola has this shape: over "
        f"[0, 1] the lack-of-fit test {said}{kept}."
    )


def _price(result: AdultThreshold) -> str:
    name, found = next(iter(result.columns.items()))
    more = float((found["loss_lazy"] - found["loss_standard"]).mean())
    saved = float((found["movement_standard"] - found["movement_lazy"]).mean())
    if more <= 0.0 or saved <= 0.0:
        return (
            f"In the setting {name} Algorithm 1 costs {more:.1f} more loss in all and moves "
            f"{saved:.1f} less."
        )
    return (
        f"In the setting {name} Algorithm 1 costs {more:.1f} more loss in all and moves "
        f"{saved:.1f} less: it pays where a unit of movement costs more than {more / saved:.2f}."
    )
