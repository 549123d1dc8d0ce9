"""Runs of an experiment, spread over processes; the answers do not depend on how many."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from trimtab.paper.experiment import Progress

Job = TypeVar("Job")
Answer = TypeVar("Answer")


class Crew:
    """So many processes, which go from experiment to experiment; with one, this process alone.

    >>> done = []
    >>> with Crew(1) as crew:
    ...     crew.spread(abs, [-1, 2, -3, -4], progress=done.append)
    [1, 2, 3, 4]
    >>> sum(done)
    1.0
    """

    def __init__(self, workers: int) -> None:
        # Not forked: the progress bar has a thread, and a fork would inherit its locks.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(workers, mp_context=context) if workers > 1 else None

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def spread(
        self, play: Callable[[Job], Answer], jobs: Sequence[Job], *, progress: Progress
    ) -> list[Answer]:
        """The answer to every job, in the order of the jobs, which are begun in that order.

        With more than one worker `play` and the jobs go to other processes: a function of a
        module, and plain data.
        """
        answers = []
        for answer in (map if self._pool is None else self._pool.map)(play, jobs):
            answers.append(answer)
            progress(1.0 / len(jobs))
        return answers
