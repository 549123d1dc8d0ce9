"""Runs of an experiment, spread over processes; the answers do not depend on how many."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from trimtab.paper.experiment import Progress

Job = TypeVar("Job")
Answer = TypeVar("Answer")


def spread(
    play: Callable[[Job], Answer],
    jobs: Sequence[Job],
    *,
    workers: int,
    progress: Progress,
    share: float = 1.0,
) -> list[Answer]:
    """The answer to every job, in the order of the jobs.

    With more than one worker `play` and the jobs go to other processes: a function of a module,
    and plain data. `share` is the part of the experiment that these jobs are.

    >>> done = []
    >>> spread(abs, [-1, 2, -3, -4], workers=1, progress=done.append)
    [1, 2, 3, 4]
    >>> sum(done)
    1.0
    """
    answers = []
    with _mapped(workers) as mapped:
        for answer in mapped(play, jobs):
            answers.append(answer)
            progress(share / len(jobs))
    return answers


@contextmanager
def _mapped(workers: int) -> Iterator[Callable[..., Iterable[Any]]]:
    if workers <= 1:
        yield map
        return
    # Not forked: the progress bar has a thread, and a fork would inherit its locks.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield pool.map
