"""A process that does one job after another, and dies with the one that started it."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any

from trimtab.errors import TrimtabError


@dataclass(frozen=True)
class Raised:
    """In the place of an answer: the job has raised this."""

    error: Exception


class Worker:
    """The leading process's side. A worker is starting, idle, or has a job.

    It is a fresh interpreter, because a fork of a process with threads is not safe.
    """

    def __init__(self) -> None:
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _interrupts_ignored():
            self.process.start()
        theirs.close()  # or its death would not close the line
        self.starting = True
        self.number: int | None = None  # of the job that it has

    @property
    def idle(self) -> bool:
        """Whether it could take a job now."""
        return not self.starting and not self.busy

    @property
    def busy(self) -> bool:
        """Whether it has a job."""
        return self.number is not None

    def take(self, number: int, do: Callable[[Any], Any], job: Any) -> None:
        """Begin with a job; only an idle worker can."""
        self.number = number
        try:
            self.connection.send((do, job))
        except ConnectionError:
            return  # it has died meanwhile, which `answer` will find

    def answer(self) -> Any:
        """The answer to its job; or nothing from a worker that was starting, and is idle now.

        Raises:
            EOFError: it has died.
            TrimtabError: it could not even start.
        """
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            self.end()
            if not self.starting:
                raise EOFError(
                    f"the worker process ended while it made this run: {self.death}"
                ) from None
            raise TrimtabError(
                f"a worker process could not start: {self.death}. If your script starts "
                'runs at its top level, put that under `if __name__ == "__main__":`, because '
                "workers import the script; or choose workers=1"
            ) from None
        self.starting, self.number = False, None
        return message

    @property
    def death(self) -> str:
        """How the process ended."""
        code = self.process.exitcode or 0
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def end(self) -> None:
        """Stop it, whatever it is doing."""
        self.connection.close()
        self.process.terminate()
        self.process.join()


def _serve(connection: Connection) -> None:
    """The worker's side: do jobs until the line is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leading process decides
    threading.Thread(target=_follow_parent, daemon=True).start()
    connection.send(None)  # it is ready
    while True:
        try:
            do, job = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(_done(do, job))


def _done(do: Callable[[Any], Any], job: Any) -> Any:
    try:
        return do(job)
    except Exception as error:
        error.add_note(traceback.format_exc())
        return Raised(error)


def _follow_parent() -> None:
    """End this process at once when the one that started it has ended, even if by a kill."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """A process started within is deaf to Ctrl-C from its first instruction on."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say so; the worker says it itself a moment later
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
