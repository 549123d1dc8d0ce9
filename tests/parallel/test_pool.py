"""The pool of processes: what comes back, and from whom."""

from __future__ import annotations

import os

import pytest

from trimtab.errors import InvalidInput, TrimtabError
from trimtab.parallel.pool import Lost, Pool


def own_process(job: int) -> tuple[int, int]:
    return job, os.getpid()


def refuses(job: int) -> int:
    if job == 2:
        raise InvalidInput("job = 2; give another one")
    return job


def dies(job: int) -> int:
    if job == 1:
        os._exit(3)
    return job


def silent(part: float) -> None:
    """A progress bar that nobody sees."""


def test_answers_come_in_the_order_of_the_jobs_from_other_processes() -> None:
    done: list[float] = []
    with Pool(2) as pool:
        answers = pool.spread(own_process, range(20), progress=done.append)
        again = pool.spread(own_process, range(5), progress=silent)
    assert [job for job, _ in answers] == list(range(20))
    assert [job for job, _ in again] == list(range(5))
    assert os.getpid() not in {process for _, process in answers + again}
    assert sum(done) == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1, 2])
def test_what_a_job_raises_is_raised(size: int) -> None:
    with Pool(size) as pool, pytest.raises(InvalidInput, match="job = 2"):
        pool.spread(refuses, range(4), progress=silent)


def test_a_job_that_ends_its_workers_is_lost_alone() -> None:
    with Pool(2) as pool:
        answers = dict(pair for batch in pool.batches(dies, range(4)) for pair in batch)
        lost = answers.pop(1)
        assert isinstance(lost, Lost)
        assert lost.why.endswith("exit code 3, 3 times")
        assert answers == {0: 0, 2: 2, 3: 3}
        with pytest.raises(TrimtabError, match="exit code 3"):
            pool.spread(dies, range(2), progress=silent)
