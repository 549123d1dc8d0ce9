"""A pool of worker processes; the answers do not depend on how many there are."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any, TypeVar

from trimtab.errors import TrimtabError
from trimtab.parallel.worker import Raised, Worker

Job = TypeVar("Job")
Answer = TypeVar("Answer")
MOST_ATTEMPTS = 3  # of a job that ends its worker


@dataclass(frozen=True)
class Lost:
    """In the place of an answer: the job ended every worker that had it."""

    why: str


class Pool:
    """Worker processes that do one job after another; with a size of 1, this process alone.

    >>> done = []
    >>> with Pool(1) as pool:
    ...     pool.spread(abs, [-1, 2, -3, -4], progress=done.append)
    [1, 2, 3, 4]
    >>> sum(done)
    1.0
    """

    def __init__(self, size: int) -> None:
        self._workers: list[Worker] = []
        try:
            for _ in range(size if size > 1 else 0):
                self._workers.append(Worker())
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: Any) -> None:
        self.end()

    def end(self) -> None:
        """Stop all workers, whatever they are doing."""
        for worker in self._workers:
            worker.end()

    def spread(
        self,
        do: Callable[[Job], Answer],
        jobs: Sequence[Job],
        *,
        progress: Callable[[float], None],
    ) -> list[Answer]:
        """The answer to every job, in the order of the jobs, which are begun in that order.

        With more than one worker `do` and the jobs go to other processes: a function of a
        module, and plain data.

        Raises:
            TrimtabError: a job has ended its worker, `MOST_ATTEMPTS` times.
        """
        answers: dict[int, Answer] = {}
        for batch in self.batches(do, jobs):
            for number, answer in batch:
                if isinstance(answer, Lost):
                    raise TrimtabError(answer.why)
                answers[number] = answer
                progress(1.0 / len(jobs))
        return [answers[number] for number in range(len(jobs))]

    def batches(
        self, do: Callable[[Job], Answer], jobs: Sequence[Job]
    ) -> Generator[list[tuple[int, Answer | Lost]], None, None]:
        """Answers as they come, each with the number of its job; what `do` raises is raised.

        A worker that dies is replaced and its job done again; after `MOST_ATTEMPTS` the job is
        lost. Whoever leaves the loop early must end the pool.
        """
        if not self._workers:
            for number, job in enumerate(jobs):
                yield [(number, do(job))]
            return
        todo, attempts = deque(range(len(jobs))), Counter[int]()
        batch: list[tuple[int, Answer | Lost]] = []
        while True:
            self._feed(todo, do, jobs)
            if batch:
                yield batch  # the workers are busy while the caller deals with it
            if not todo and not any(worker.busy for worker in self._workers):
                return
            batch = []
            for number, answer in self._listen():
                if not isinstance(answer, EOFError):
                    batch.append((number, answer))
                    continue
                attempts[number] += 1
                if attempts[number] < MOST_ATTEMPTS:
                    todo.appendleft(number)
                else:
                    batch.append((number, Lost(f"{answer}, {MOST_ATTEMPTS} times")))

    def _feed(self, todo: deque[int], do: Callable[[Any], Any], jobs: Sequence[Any]) -> None:
        """Give the next jobs to those that have none."""
        for worker in self._workers:
            if worker.idle and todo:
                number = todo.popleft()
                worker.take(number, do, jobs[number])

    def _listen(self) -> Iterator[tuple[int, Any]]:
        """What the workers answer that have something to say, or how they died."""
        speaking = wait([worker.connection for worker in self._workers if not worker.idle])
        for place, worker in enumerate(self._workers):
            if worker.connection in speaking:
                number = worker.number
                try:
                    answer = worker.answer()
                except EOFError as death:
                    answer = death
                    self._workers[place] = Worker()
                if isinstance(answer, Raised):
                    raise answer.error
                if number is not None:
                    yield number, answer
