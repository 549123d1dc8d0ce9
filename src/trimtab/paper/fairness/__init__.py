"""Beyond the paper: a threshold per group of Adult, with errors and gaps as criteria."""

from __future__ import annotations

from trimtab.paper.experiment import Progress
from trimtab.paper.fairness.peer import threshold_optimizer
from trimtab.paper.fairness.pilot import SHAPES, chosen, piloted
from trimtab.paper.fairness.play import Job, Scopes, Settings, play_one, world_of
from trimtab.paper.fairness.result import STEADY, FairnessStudy
from trimtab.parallel.pool import Pool

__all__ = ["FairnessStudy", "Settings", "run"]

OTHERS: tuple[tuple[str, Scopes], ...] = (
    # The longest first, or it would keep one worker busy at the end.
    ("SteadyGraphLinUCB", "dense"),
    ("SteadyGraphLinUCB", "learned"),
    ("SteadyGraphLinUCB", "sparse"),
    ("LinUCB", "known"),
    ("LazyGraphLinUCB", "known"),
    ("AsyncLazyGraphLinUCB", "known"),
)


def run(settings: Settings, *, seed: int, pool: Pool, progress: Progress) -> FairnessStudy:
    """The pilot, and every run."""
    pilots = [piloted(settings, shape, seed=seed) for shape in SHAPES]
    knowledge = chosen(settings, pilots)
    world = world_of(settings, knowledge.shape, training=settings.training)
    jobs = [
        Job(settings, knowledge, policy, scopes, seed, i)
        for policy, scopes in OTHERS
        for i in range(settings.others)
    ]
    jobs += [Job(settings, knowledge, STEADY, "known", seed, i) for i in range(settings.runs)]
    played = pool.spread(play_one, jobs, progress=progress)
    best = world.best_fixed()
    return FairnessStudy(
        spec=settings,
        pilots=pilots,
        sparse_pilot=piloted(settings, knowledge.shape, seed=seed, scopes="sparse"),
        knowledge=knowledge,
        start=world.mean(world.state(settings.start)),
        best=best,
        best_losses=world.mean(best.state),
        peer=threshold_optimizer(world),
        runs=played,
    )
