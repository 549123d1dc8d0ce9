"""The second experiment: ten cliques that learn at different rates."""

from __future__ import annotations

from trimtab.paper.cliques import Domain
from trimtab.paper.experiment import Progress
from trimtab.paper.heterogeneous.play import CliquesRun, Job, Settings, play_one
from trimtab.paper.heterogeneous.result import Heterogeneous
from trimtab.parallel.pool import Pool

__all__ = ["Heterogeneous", "Settings", "run"]


def run(settings: Settings, *, seed: int, pool: Pool, progress: Progress) -> Heterogeneous:
    """Play every schedule on every domain."""
    jobs = [
        Job(settings, "standard", "circle", seed, i)
        for i in range(min(settings.standard_runs, settings.runs))
    ]
    jobs += [
        Job(settings, policy, domain, seed, i)
        for policy in ("ringing", "global", "async")
        for domain in settings.domains
        for i in range(settings.runs)
    ]
    played: dict[tuple[Domain, str], list[CliquesRun]] = {}
    answers = pool.spread(play_one, jobs, progress=progress)
    for job, answer in zip(jobs, answers, strict=True):
        played.setdefault((job.domain, job.policy), []).append(answer)
    return Heterogeneous(spec=settings, played=played)
