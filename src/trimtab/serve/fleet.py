"""Workers of a replica: threads that run the loops of tuners whose turn has come."""

from __future__ import annotations

import secrets
import socket
import threading
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from trimtab.errors import InvalidInput, TrimtabError
from trimtab.live.clock import utc
from trimtab.live.spec.spec import Spec
from trimtab.live.store.journal import Journal
from trimtab.run.log import Log
from trimtab.run.notify.notices import Noticing
from trimtab.run.notify.webhooks import Webhooks
from trimtab.run.shell import open_loop, secrets_of
from trimtab.serve.work import Work

if TYPE_CHECKING:
    from trimtab.serve.metrics import Metrics
    from trimtab.serve.tuners import OpenTuners

IDLE = 0.25  # seconds between two checks for work
LONGEST = 5.0  # seconds until the next step of a loop, however long it wants to wait
AFTER_FAULT = 30.0  # seconds
MOST_OPEN = 200  # loops kept open by one replica
REMOTE = ("prometheus", "http", "redis")  # kinds that reach no further than the network


def runnable(spec: Spec, *, local: bool) -> Spec:
    """The spec, if workers may run it.

    Raises:
        InvalidInput: it has no source or target, or one that reaches into this machine.
    """
    if spec.source is None or spec.target is None:
        raise InvalidInput(f"tuner {spec.name!r} has no [source] or no [target]: nothing to run")
    for what, kind in (("source", spec.source.kind), ("target", spec.target.kind)):
        if kind not in REMOTE and not local:
            raise InvalidInput(
                f"{what}.kind = {kind!r}: it would run programs or read files on the service's "
                f"machine; use one of {', '.join(REMOTE)}, or start the service with --local"
            )
    return spec


class Fleet:
    """The workers of one replica."""

    def __init__(
        self, work: Work, tuners: OpenTuners, metrics: Metrics, *, workers: int, local: bool
    ) -> None:
        self._work, self._tuners, self._metrics = work, tuners, metrics
        self._local = local
        self.name = f"{socket.gethostname()}-{secrets.token_hex(4)}"
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._loops: dict[str, Running] = {}  # the oldest first
        self._busy: set[str] = set()
        self._threads = [
            threading.Thread(target=self._run, name=f"trimtab-worker-{n}", daemon=True)
            for n in range(workers)
        ]

    def start(self) -> None:
        """Begin to look for work."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Finish the steps that have begun, and leave the tuners to others."""
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        if self._threads:
            for name in list(self._loops):
                self._close(name)
            self._work.release(self.name)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                tuner = self._work.take(self.name)
            except TrimtabError:  # the store may be back later
                self._stop.wait(LONGEST)
                continue
            if tuner is None:
                self._stop.wait(IDLE)
            elif self._begin(tuner):
                try:
                    self._step(tuner)
                finally:
                    self._busy.discard(tuner)

    def _begin(self, tuner: str) -> bool:
        """Whether no other thread of this replica has it."""
        with self._lock:
            free = tuner not in self._busy
            self._busy.add(tuner)
            return free

    def _step(self, name: str) -> None:
        """One step of the tuner's loop; it says when to come again."""
        try:
            wait = min(self._loop(name).step(), LONGEST)
            outcome = "done"
        except TrimtabError as error:
            Log(constant={"tuner": name}).error("worker", text=str(error))
            self._close(name)
            wait, outcome = AFTER_FAULT, "failed"
        self._metrics.rounds.labels(outcome).inc()
        try:
            self._work.give_back(name, self.name, wait)
        except TrimtabError:  # its lease ends, and it is somebody's then
            self._close(name)

    def _loop(self, name: str) -> Running:
        """The tuner's loop, opened anew if its connections have changed."""
        spec = runnable(self._tuners.get(name).recorded_spec(), local=self._local)
        known = self._loops.get(name)
        if known is not None and known.connects(spec):
            return known
        self._close(name)
        loop = Running(spec, self._tuners.journal(name))
        with self._lock:
            self._loops[name] = loop
            idle = [each for each in self._loops if each not in self._busy]
        for each in idle[: max(len(self._loops) - MOST_OPEN, 0)]:
            self._close(each)
        return loop

    def _close(self, name: str) -> None:
        with self._lock:
            known = self._loops.pop(name, None)
        if known is not None:
            known.close()


class Running:
    """A loop with its notices and webhooks, as `trimtab run` has them."""

    def __init__(self, spec: Spec, journal: Journal) -> None:
        self._connections = (spec.source, spec.target, spec.webhooks)
        log = Log(secrets=secrets_of(spec), least="warn", constant={"tuner": spec.name})
        self._stack = ExitStack()
        noticing = Noticing(journal, spec.name, clock=utc, log=log)
        try:
            opened = open_loop(spec, storage=journal, log=log, observers=(noticing,))
            self._loop = self._stack.enter_context(opened)
            self._hooks = None
            if spec.webhooks:
                hooks = Webhooks(spec, journal, clock=utc, log=log)
                self._hooks = self._stack.enter_context(closing(hooks))
        except BaseException:
            self._stack.close()
            raise

    def connects(self, spec: Spec) -> bool:
        """Whether it reads, sets and tells what the spec names."""
        return self._connections == (spec.source, spec.target, spec.webhooks)

    def step(self) -> float:
        """Do what is due; seconds until something may be due again."""
        wait = self._loop.step()
        return wait if self._hooks is None else min(wait, self._hooks.step())

    def close(self) -> None:
        """Close the connections."""
        self._stack.close()
