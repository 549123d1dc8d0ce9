"""The third experiment: one threshold on Adult, standard LinUCB against Algorithm 1."""

from __future__ import annotations

import numpy as np

from trimtab.paper.adult.play import (
    GRID,
    AdultRun,
    Job,
    Settings,
    Variant,
    fit_of,
    play_one,
    world_of,
)
from trimtab.paper.adult.result import AdultThreshold
from trimtab.paper.experiment import Progress
from trimtab.paper.scores import Classifier, scored
from trimtab.parallel.pool import Pool

__all__ = ["AdultThreshold", "Settings", "Variant", "run"]

DEGREES = (2, 3, 4, 6)


def run(settings: Settings, *, seed: int, pool: Pool, progress: Progress) -> AdultThreshold:
    """Play every variant."""
    for drop in {variant.drop_unknown for variant in settings.variants}:
        scored(Classifier(drop_unknown=drop))  # once, before workers would each train
    jobs = [
        Job(settings, variant, seed, i)
        for variant in settings.variants
        for i in range(settings.runs)
    ]
    played: dict[str, list[AdultRun]] = {}
    answers = pool.spread(play_one, jobs, progress=progress)
    for job, answer in zip(jobs, answers, strict=True):
        played.setdefault(job.variant.name, []).append(answer)
    everybody = world_of(settings, Variant(name="loss"))
    return AdultThreshold(
        spec=settings,
        played=played,
        fits=[fit_of(settings, degree, seed=seed) for degree in DEGREES],
        loss=np.array((GRID, everybody.values, everybody.fitted)),
        best=float(everybody.optimum.state[0]),
    )
