"""Runs in this process, or in others on this machine.

Outcomes come in batches, as they are ready; whoever consumes them keeps them. Leaving
the loop early ends the workers.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from multiprocessing.connection import wait

from trimtab.sweeps.run import Outcome, Run, carry_out
from trimtab.sweeps.worker import Worker

Batch = list[tuple[Run, Outcome]]
MOST_ATTEMPTS = 3  # of a run that ends its worker


def in_this_process(runs: Iterable[Run]) -> Generator[Batch, None, None]:
    """The outcomes of runs made one after the other, right here."""
    for run in runs:
        yield [(run, carry_out(run))]


def in_processes(runs: Sequence[Run], workers: int) -> Generator[Batch, None, None]:
    """The outcomes of runs made by worker processes, one run at a time each.

    A worker that dies is replaced and its run made again; after `MOST_ATTEMPTS` the run
    has failed.
    """
    crew = _Crew(min(workers, len(runs)))
    todo, attempts = deque(runs), Counter[str]()
    try:
        batch: Batch = []
        while True:
            crew.feed(todo)
            if batch:
                yield batch  # the workers are busy while this is stored
            if not todo and not crew.busy:
                return
            batch = []
            for run, answer in crew.listen():
                if isinstance(answer, Outcome):
                    batch.append((run, answer))
                    continue
                attempts[run.digest] += 1
                if attempts[run.digest] < MOST_ATTEMPTS:
                    todo.appendleft(run)
                else:
                    error = f"{answer}, {MOST_ATTEMPTS} times"
                    batch.append((run, Outcome(numbers=None, error=error)))
    finally:
        crew.end()


class _Crew:
    """Workers, as many all the time."""

    def __init__(self, size: int) -> None:
        self.workers: list[Worker] = []
        try:
            for _ in range(size):
                self.workers.append(Worker())
        except BaseException:
            self.end()
            raise

    @property
    def busy(self) -> bool:
        """Whether any run is being made."""
        return any(worker.run for worker in self.workers)

    def feed(self, todo: deque[Run]) -> None:
        """Give the next runs to those that have none."""
        for worker in self.workers:
            if worker.idle and todo:
                worker.take(todo.popleft())

    def listen(self) -> Iterator[tuple[Run, Outcome | EOFError]]:
        """What those say that have something to say, or how they died."""
        speaking = wait([worker.connection for worker in self.workers if not worker.idle])
        for place, worker in enumerate(self.workers):
            if worker.connection in speaking:
                run = worker.run
                try:
                    answer: Outcome | EOFError | None = worker.answer()
                except EOFError as death:
                    answer = death
                    self.workers[place] = Worker()
                if run and answer:
                    yield run, answer

    def end(self) -> None:
        """Stop them all."""
        for worker in self.workers:
            worker.end()
