"""A loop as a process of its own: signals, metrics, webhooks around one loop."""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from trimtab import __version__
from trimtab.errors import InvalidInput
from trimtab.live.clock import utc
from trimtab.live.spec.spec import Spec
from trimtab.live.store.opening import open_journal
from trimtab.run.log import Log
from trimtab.run.loop import Observer
from trimtab.run.notify.notices import Noticing
from trimtab.run.shell import open_loop, play, play_once, reread, secrets_of

if TYPE_CHECKING:
    from trimtab.run.instruments import Instruments
    from trimtab.run.notify.webhooks import Webhooks


def run_process(
    path: Path,
    *,
    storage: str | None = None,
    once: bool = False,
    dry: bool = False,
    metrics: str | None = None,
    as_json: bool = False,
) -> bool:
    """Run the loop of a spec until SIGTERM or SIGINT; whether all went well.

    Args:
        path: of the spec.
        storage: where the journal is, if not where the spec says.
        once: one round only.
        dry: read and propose, write and set nothing.
        metrics: HOST:PORT at which to serve metrics of its own.
        as_json: log for machines.

    Raises:
        InvalidInput: the spec is wrong, or cannot be run.
    """
    spec = Spec.read(path)
    log = Log(
        stream=sys.stderr,
        as_json=as_json,
        secrets=secrets_of(spec),
        constant={"tuner": spec.name},
    )
    stop, hup = threading.Event(), threading.Event()
    with ExitStack() as stack:
        journal = None
        if not dry:
            journal = stack.enter_context(closing(open_journal(storage or spec.storage)))
        instruments = None if metrics is None else _served(metrics, spec.name, stack)
        observers: list[Observer] = [] if instruments is None else [instruments]
        if journal is not None:
            looked = (lambda cause: None) if instruments is None else instruments.looked
            noticing = Noticing(journal, spec.name, clock=utc, log=log, looked=looked)
            observers.insert(0, noticing)
        loop = stack.enter_context(
            open_loop(
                spec, storage=journal, log=log, observers=tuple(observers), once=once, dry=dry
            )
        )
        log.info("began", version=__version__, once=once or None, dry=dry or None)
        webhooks = None
        if spec.webhooks and journal is not None:
            from trimtab.run.notify.webhooks import Webhooks

            webhooks = stack.enter_context(closing(Webhooks(spec, journal, clock=utc, log=log)))
            if instruments is not None:
                hooks = webhooks
                instruments.undelivered = lambda: hooks.waiting
        if once:
            well = play_once(loop)
            if webhooks is not None:
                webhooks.step()
            return well

        def between() -> None:
            if hup.is_set():
                hup.clear()
                reread(loop, path, utc, log)

        stack.enter_context(_signals(stop, hup))
        if webhooks is not None:
            stack.enter_context(_delivering(webhooks, stop))
        play(loop, stop, between=between)
        log.info("stopped")
    return True


@contextmanager
def _signals(stop: threading.Event, hup: threading.Event) -> Iterator[None]:
    """SIGTERM and SIGINT stop after the step that is under way; SIGHUP reads the spec again."""

    def handler(event: threading.Event) -> Callable[[int, FrameType | None], None]:
        return lambda number, frame: event.set()

    wanted = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: hup}
    before = {number: signal.signal(number, handler(event)) for number, event in wanted.items()}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def _delivering(webhooks: Webhooks, stop: threading.Event) -> Iterator[None]:
    """Notices are delivered by a thread: a slow receiver does not hold the loop up."""

    def deliver() -> None:
        while not stop.wait(webhooks.step()):
            pass

    thread = threading.Thread(target=deliver, name="trimtab-webhooks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        webhooks.step()  # what the last step of the loop had to say


def _served(address: str, name: str, stack: ExitStack) -> Instruments:
    """The metrics of this process, served at an address until the end.

    Raises:
        InvalidInput: no such address, or it is taken.
    """
    match = re.fullmatch(r"(.*):([0-9]{1,5})", address)
    if match is None or not 0 <= int(match[2]) < 65536:
        raise InvalidInput(f"--metrics {address!r}: write HOST:PORT, such as 127.0.0.1:9464")
    try:
        from prometheus_client import CollectorRegistry, start_http_server

        from trimtab.run.instruments import Instruments, Metrics
    except ImportError as error:
        raise InvalidInput(f"--metrics needs {error.name}: pip install 'trimtab[run]'") from None
    registry = CollectorRegistry()
    try:
        server, thread = start_http_server(int(match[2]), match[1] or "127.0.0.1", registry)
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"--metrics {address}: {error}") from None

    def end() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    stack.callback(end)
    return Instruments(Metrics(registry), name)
