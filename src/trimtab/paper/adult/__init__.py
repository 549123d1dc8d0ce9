"""The third experiment: one threshold on Adult, standard LinUCB against Algorithm 1."""

from __future__ import annotations

from trimtab.paper.adult.play import Job, Run, Settings, Variant, fit_of, play_one
from trimtab.paper.adult.result import AdultThreshold, loss_at
from trimtab.paper.experiment import Progress
from trimtab.paper.runs import spread
from trimtab.paper.scores import Classifier, scored

__all__ = ["AdultThreshold", "Settings", "Variant", "run"]

DEGREES = (2, 3, 4, 6)
THRESHOLDS = (0.2, 0.5, 0.7, 0.9, 1.0)


def run(settings: Settings, *, seed: int, workers: int, progress: Progress) -> AdultThreshold:
    """Play every variant."""
    for drop in {variant.drop_unknown for variant in settings.variants}:
        scored(Classifier(drop_unknown=drop))  # once, before workers would each train
    jobs = [
        Job(settings, variant, seed, i)
        for variant in settings.variants
        for i in range(settings.runs)
    ]
    played: dict[str, list[Run]] = {}
    answers = spread(play_one, jobs, workers=workers, progress=progress)
    for job, answer in zip(jobs, answers, strict=True):
        played.setdefault(job.variant.name, []).append(answer)
    losses, best = loss_at(settings, THRESHOLDS)
    return AdultThreshold(
        spec=settings,
        played=played,
        fits=[fit_of(settings, degree, seed=seed) for degree in DEGREES],
        losses=losses,
        best=best,
    )
