"""Measure the recommended policy, told nothing but the problem and the start state.

    python -m benchmarks.learner                          everything
    python -m benchmarks.learner changes delays           some sections
    python -m benchmarks.learner --short                  a few seconds; the verdicts mean little

It ends with status 1 if a mark is missed. Worlds are those of the league, with seeds that neither
the league nor the training worlds have. Nothing may be tuned on them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

from benchmarks.learner.marks import FIRST, SECTIONS, SHORT, Mark, Size, table
from benchmarks.learner.runs import Job, Run, play


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of marks; 1 if one is missed."""
    parser = argparse.ArgumentParser(description="Measure the recommended policy.")
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all by default")
    parser.add_argument("--short", action="store_true", help="a few short runs")
    parser.add_argument("--seeds", type=int, default=None)
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"unknown section {unknown[0]!r}; choose from {', '.join(SECTIONS)}")
    size = SHORT if chosen.short else Size()
    size = size if chosen.seeds is None else replace(size, seeds=chosen.seeds)
    marks = measured(chosen.sections or list(SECTIONS), size, workers=chosen.workers)
    print(f"`SteadyGraphLinUCB(problem, start=start)`; seeds from {FIRST} on\n\n{table(marks)}")
    missed = sum(not mark.met for mark in marks)
    print(f"\n{len(marks) - missed} of {len(marks)} marks are met.")
    return int(missed > 0)


def measured(sections: Sequence[str], size: Size, *, workers: int) -> list[Mark]:
    """The marks of some sections."""
    if workers == 1:
        return [mark for name in sections for mark in SECTIONS[name](one_by_one, size)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:

        def side_by_side(jobs: Sequence[Job]) -> list[Run]:
            return list(pool.map(play, jobs))

        return [mark for name in sections for mark in SECTIONS[name](side_by_side, size)]


def one_by_one(jobs: Sequence[Job]) -> list[Run]:
    """All runs, in this process."""
    return [play(job) for job in jobs]


if __name__ == "__main__":
    sys.exit(main())
