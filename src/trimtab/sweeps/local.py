"""Runs on this machine: in this process, or in others.

Outcomes come in batches, as they are ready; whoever consumes them keeps them. Leaving
the loop early ends the workers.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from trimtab.parallel.pool import Lost, Pool
from trimtab.sweeps.run import Outcome, SweepRun, carry_out

Batch = list[tuple[SweepRun, Outcome]]


def on_this_machine(runs: Sequence[SweepRun], workers: int) -> Generator[Batch, None, None]:
    """The outcomes of runs, made one at a time by each worker; a run that kills them has failed."""
    with Pool(min(workers, len(runs))) as pool:
        for batch in pool.batches(carry_out, runs):
            yield [(runs[number], _outcome(answer)) for number, answer in batch]


def _outcome(answer: Outcome | Lost) -> Outcome:
    return Outcome(numbers=None, error=answer.why) if isinstance(answer, Lost) else answer
