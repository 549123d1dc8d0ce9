"""Everything that the endpoints share: the store, the tokens, the open tuners, the news."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request

from trimtab.live.clock import utc
from trimtab.serve.access.authentication import Gate
from trimtab.serve.access.tokens import Tokens
from trimtab.serve.fleet import Fleet
from trimtab.serve.metrics import Metrics
from trimtab.serve.page.figures import Figures
from trimtab.serve.settings import Settings
from trimtab.serve.tables import Tables
from trimtab.serve.tuners import OpenTuners
from trimtab.serve.watch import Watch
from trimtab.serve.work import Work


class Service:
    """One replica. Any number of them may share a store in PostgreSQL."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Callable[[], datetime] = utc,
    ) -> None:
        self.settings = settings
        self.tables = Tables(settings.storage)
        self.tokens = Tokens(self.tables, most=settings.most_tokens)
        self.gate = Gate(self.tokens, settings)
        self.tuners = OpenTuners(
            settings.storage,
            connections=settings.connections,
            limit=settings.open_tuners,
            clock=clock,
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
