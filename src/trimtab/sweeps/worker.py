"""A process that makes one run after another, and dies with the one that started it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection

from trimtab.errors import TrimtabError
from trimtab.sweeps.run import Outcome, Run, carry_out

READY = "ready"


class Worker:
    """The leading process's side. A worker is starting, idle, or has a run.

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
        self.run: Run | None = None

    @property
    def idle(self) -> bool:
        """Whether it could take a run now."""
        return not self.starting and self.run is None

    def take(self, run: Run) -> None:
        """Begin with a run; only an idle worker can."""
        self.run = run
        try:
            self.connection.send(run)
        except ConnectionError:
            return  # it has died meanwhile, which `answer` will find

    def answer(self) -> Outcome | None:
        """The outcome of its run; or None from a worker that was starting, and is idle now.

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
                f"a worker process could not start: {self.death}. If your script calls sweep at "
                'its top level, put the call under `if __name__ == "__main__":`, because workers '
                "import the script; or choose workers=1"
            ) from None
        self.starting, self.run = False, None
        return None if message == READY else message

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
    """The worker's side: make runs until the line is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leading process decides
    threading.Thread(target=_follow_parent, daemon=True).start()
    connection.send(READY)
    while True:
        try:
            run: Run = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(carry_out(run))


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
