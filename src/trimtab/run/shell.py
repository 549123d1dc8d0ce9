"""The thin shell around the loop: it opens what the spec names, sleeps, and can be stopped.

::

    with open_loop(spec) as loop:
        play(loop, stop)        # until stop.set(), from a signal handler or another thread
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from trimtab.errors import InvalidInput, TrimtabError
from trimtab.live.clock import utc
from trimtab.live.spec.connect.environment import Secrets
from trimtab.live.spec.spec import Spec
from trimtab.live.store.journal import Journal
from trimtab.live.store.opening import open_journal
from trimtab.live.tuner import Tuner
from trimtab.run.log import Log
from trimtab.run.loop import Loop, Observer
from trimtab.run.placing import ACTOR
from trimtab.run.schedule import Schedule
from trimtab.run.sources.opening import open_source
from trimtab.run.targets.opening import open_target

MOST_STEPS = 20  # of one round: more would be a fault of ours


def secrets_of(spec: Spec, environment: Mapping[str, str] = os.environ) -> Secrets:
    """Every secret that the spec names, to be masked in logs."""
    texts = [spec.storage]
    for connection in (spec.source, spec.target, *spec.webhooks):
        texts += [] if connection is None else connection.texts
    return Secrets(texts, environment)


@contextmanager
def open_loop(
    spec: Spec,
    *,
    storage: str | Journal | None = None,
    clock: Callable[[], datetime] = utc,
    log: Log | None = None,
    observers: tuple[Observer, ...] = (),
    environment: Mapping[str, str] = os.environ,
    once: bool = False,
    dry: bool = False,
) -> Iterator[Loop]:
    """A loop with everything that the spec names; all of it is closed at the end.

    Args:
        spec: with a source and a target.
        storage: where the journal is, if not where the spec says; or a journal that is open.
        clock: the time.
        log: what happens; to standard error by default.
        observers: who else wants to know.
        environment: where secrets are.
        once: for one round; see `play_once`.
        dry: on a journal that is thrown away, in shadow; values are read, and never set.

    Raises:
        InvalidInput: the spec has no source or target, or they cannot be opened.
    """
    log = log or Log(secrets=secrets_of(spec, environment), clock=clock)
    with ExitStack() as stack:
        source = open_source(spec, clock=clock, environment=environment)
        stack.callback(source.close)
        target = open_target(spec, clock=clock, environment=environment)
        stack.callback(target.close)
        if dry:
            folder = stack.enter_context(TemporaryDirectory(prefix="trimtab-dry-"))
            storage = str(Path(folder) / "journal.db")
        if isinstance(storage, Journal):
            journal = storage
        else:
            journal = stack.enter_context(closing(open_journal(storage or spec.storage)))
        shadow = True if dry else None
        tuner = Tuner(spec, storage=journal, clock=clock, shadow=shadow, actor=ACTOR)
        if spec.source is None or spec.target is None:
            raise InvalidInput("the spec has no [source] or no [target]")
        yield Loop(
            tuner,
            journal,
            source,
            target,
            schedule=Schedule.of(spec.source),
            attempts=spec.target.attempts,
            clock=clock,
            log=log,
            observers=observers,
            once=once,
            dry=dry,
        )


def play(loop: Loop, stop: threading.Event, *, between: Callable[[], None] = lambda: None) -> None:
    """Step until stopped. A step that has begun is finished; `between` is called after each."""
    while not stop.is_set():
        wait = loop.step()
        between()
        stop.wait(wait)


def play_once(loop: Loop) -> bool:
    """Tell the last window if it is due, set what is then decided; whether all went well."""
    for _ in range(MOST_STEPS):
        if loop.step() > 0.0:
            break
    return not loop.trouble


def reread(loop: Loop, path: Path, clock: Callable[[], datetime], log: Log) -> None:
    """Have the loop go by the limits and constraints that the file has now.

    What cannot change while it runs is refused, and it goes on as before.
    """
    old = loop.tuner.spec
    try:
        spec = Spec.read(path)
        if spec.name != old.name:
            raise InvalidInput(f"the spec is now of tuner {spec.name!r}; restart for that")
        loop.adopt(Tuner(spec, storage=loop.journal, clock=clock, actor=ACTOR))
    except TrimtabError as error:
        log.error("spec-refused", text=str(error))
        return
    if (spec.source, spec.target, spec.webhooks) != (old.source, old.target, old.webhooks):
        log.warn("restart-needed", text="source, target or webhooks have changed: restart for that")
