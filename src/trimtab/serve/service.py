"""Everything that the endpoints share: the store, the tokens, the open tuners, the news."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from math import inf
from typing import Annotated

from fastapi import Depends, Request

from trimtab.errors import TrimtabError
from trimtab.live.clock import utc
from trimtab.live.store.database import Step
from trimtab.serve.access.authentication import Gate
from trimtab.serve.access.tokens import Tokens
from trimtab.serve.fleet import Fleet
from trimtab.serve.metrics import Metrics
from trimtab.serve.page.figures import Figures
from trimtab.serve.settings import Settings
from trimtab.serve.tables import Tables, microseconds_now
from trimtab.serve.tuners import OpenTuners
from trimtab.serve.watch import Watch
from trimtab.serve.work import Work

FORGET_EVERY = 60.0  # seconds
TRIED_EVERY = 0.2  # seconds; anybody may ask whether the store answers, as often as they like


class Service:
    """One replica. Any number of them may share a store in PostgreSQL."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Callable[[], datetime] = utc,
        step: Step = lambda name: None,
    ) -> None:
        self.settings = settings
        self.step = step
        self._forgotten = 0  # when old answers were deleted last
        self._tried = -inf, False  # when the store was tried last, and whether it answered
        self.tables = Tables(settings.storage)
        self.tokens = Tokens(self.tables, most=settings.most_tokens)
        self.gate = Gate(self.tokens, settings)
        self.tuners = OpenTuners(
            settings.storage,
            connections=settings.connections,
            limit=settings.open_tuners,
            clock=clock,
            step=step,
        )
        self.watch = Watch(self.tables, seconds=settings.poll, most=settings.streams)
        self.metrics = Metrics(self.tuners, self.watch, self.tables)
        self.figures = Figures()
        self.work = Work(self.tables, most=settings.most_loops)
        self.fleet = Fleet(
            self.work,
            self.tuners,
            self.metrics,
            workers=settings.workers,
            local=settings.local,
        )
        self.draining = False

    def forget_old_answers(self) -> None:
        """Delete the answers whose time is over, now and then."""
        now = microseconds_now()
        if now - self._forgotten > FORGET_EVERY * 1e6:
            self._forgotten = now
            oldest = now - int(self.settings.answers * 1e6)
            with self.tables.write() as execute:
                execute("DELETE FROM trimtab_answers WHERE at < ?", oldest)

    def store_answers(self) -> bool:
        """Whether the store can be used; it is tried only now and then."""
        at, answered = self._tried
        now = time.monotonic()
        if now - at >= TRIED_EVERY:
            try:
                self.tables.query("SELECT 1 FROM trimtab_format")
                answered = True
            except TrimtabError:  # its words may name the store, which strangers need not know
                answered = False
            self._tried = now, answered
        return answered

    def drain(self) -> None:
        """Say that no more requests are welcome, and let listeners go."""
        self.draining = True
        self.watch.close()

    def close(self) -> None:
        """Finish the steps of loops, and end the connections to the store."""
        self.fleet.stop()
        self.tuners.close()
        self.tables.close()


async def service_of(request: Request) -> Service:
    """The service that a request has reached."""
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(service_of)]
