"""The first experiment: one clique of two knobs, standard LinUCB against Algorithm 1."""

from __future__ import annotations

from trimtab.paper.cliques import Domain, Law
from trimtab.paper.experiment import Progress
from trimtab.paper.single_clique.play import (
    CliqueRun,
    Job,
    Settings,
    movement_of_the_listing,
    play_one,
)
from trimtab.paper.single_clique.result import SingleClique
from trimtab.parallel.pool import Pool

__all__ = ["Settings", "SingleClique", "run"]


def run(settings: Settings, *, seed: int, pool: Pool, progress: Progress) -> SingleClique:
    """Play every setting."""
    cells = [(domain, law) for domain in settings.domains for law in settings.laws]
    # The long runs first: at the end they would keep one worker busy and the others idle.
    jobs = [
        Job(settings, domain, settings.laws[0], seed, i, long=True)
        for domain in settings.domains
        for i in range(min(settings.long_runs, settings.runs))
    ]
    jobs += [Job(settings, *cell, seed, i) for cell in cells for i in range(settings.runs)]
    played: dict[tuple[Domain, Law, bool], list[CliqueRun]] = {}
    answers = pool.spread(play_one, jobs, progress=progress)
    for job, answer in zip(jobs, answers, strict=True):
        played.setdefault((job.domain, job.law, job.long), []).append(answer)
    return SingleClique(
        spec=settings,
        played={cell: played[*cell, False] for cell in cells},
        long={domain: played[domain, settings.laws[0], True] for domain in settings.domains},
        stuck=movement_of_the_listing(settings),
    )
