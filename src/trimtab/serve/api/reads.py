"""What can be read of tuners: status, spec, explanations, history and news."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from trimtab.errors import NotFound
from trimtab.serve.access.authentication import Guarded, Who, rule
from trimtab.serve.api import models
from trimtab.serve.api.answers import documented, line, refusals, shown
from trimtab.serve.api.parameters import (
    After,
    AfterName,
    DecisionId,
    Kinds,
    Names,
    Newest,
    Rows,
    TunerName,
    Tuners,
)
from trimtab.serve.problems import Refused
from trimtab.serve.service import Served, Service
from trimtab.serve.watch import Listener

router = APIRouter(route_class=Guarded, prefix="/api/v1", tags=["reading"])
QUIET = 15.0  # seconds after which a stream says that it is alive
STREAM = refusals(404, media="text/event-stream")


@router.get("/whoami", responses=documented(models.WhoGiven), **rule("flags"))
def whoami(who: Who) -> Response:
    """Whose token it is, and what it may do."""
    return shown({"name": who.name, "role": who.role, "tuner": who.tuner})


@router.get("/tuners", responses=documented(models.TunersGiven), **rule("see"))
def tuners(service: Served, who: Who, after: AfterName = "", limit: Tuners = 50) -> Response:
    """The names of tuners, in alphabetical order."""
    names = service.tables.names(after=after, limit=limit, only=who.tuner)
    return shown({"tuners": names, "next": names[-1] if len(names) == limit else None})


@router.get("/tuners/{name}", responses=documented(models.StatusGiven, 404), **rule("see"))
def status(name: TunerName, service: Served) -> Response:
    """Where the tuner stands."""
    return shown(service.tuners.get(name).status().to_dict())


@router.get("/tuners/{name}/spec", responses=documented(models.SpecGiven, 404), **rule("see"))
def spec(name: TunerName, service: Served) -> Response:
    """The spec that the journal has."""
    found = service.tuners.get(name).recorded_spec()
    return shown({k: v for k, v in found.to_dict().items() if k != "storage"})


@router.get("/tuners/{name}/loop", responses=documented(models.LoopGiven, 404), **rule("see"))
def loop(name: TunerName, service: Served) -> Response:
    """Whether workers of the service run the tuner's loop."""
    service.tuners.get(name)  # it must be there
    return shown(loop_of(service, name))


def loop_of(service: Service, name: str) -> dict[str, object]:
    """What is known of a tuner's loop."""
    share = service.work.get(name)
    return {"on": share is not None, "worker": None if share is None else share.worker}


@router.get(
    "/tuners/{name}/decisions/{decision_id}",
    responses=documented(models.ExplanationGiven, 404),
    **rule("see"),
)
def explain(name: TunerName, decision_id: DecisionId, service: Served) -> Response:
    """Why a decision was made, and what became of it."""
    return shown(service.tuners.get(name).explain(decision_id).to_dict())


@router.get("/tuners/{name}/history", responses=documented(models.HistoryGiven, 404), **rule("see"))
def history(
    name: TunerName,
    service: Served,
    after: After = 0,
    limit: Rows = 100,
    newest: Newest = False,
    kinds: Kinds = None,
) -> Response:
    """What has happened, page by page: give `next` as `after` for the next page."""
    rows = service.tuners.get(name).history(after=after, limit=limit, newest=newest, kinds=kinds)
    more = rows[-1].number if rows and len(rows) == limit and not newest else None
    return shown({"rows": [row.to_dict() for row in rows], "next": more})


@router.get("/tuners/{name}/events", responses=STREAM, **rule("see"))
async def events(
    name: TunerName,
    service: Served,
    who: Who,
    after: After = 0,
    last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=20)] = None,
) -> Response:
    """Rows of history as they are written (server-sent events), after the one seen last."""
    if last is not None:
        if not (last.isascii() and last.isdigit()):
            raise Refused(422, f"Last-Event-ID = {last!r}; give the number of an event")
        after = int(last)
    tuner = await run_in_threadpool(service.tuners.get, name)
    listener = service.watch.listen([name], who.token)

    async def rows() -> AsyncIterator[str]:
        seen = after
        with listener:
            yield ": here are the events\n\n"
            while not service.watch.closing:
                new = await run_in_threadpool(tuner.history, after=seen, limit=models.MOST_ROWS)
                for row in new:
                    seen = row.number
                    yield line("row", row.number, row.to_dict())
                if len(new) < models.MOST_ROWS and not await _woken(listener):
                    yield ": nothing new\n\n"

    return StreamingResponse(rows(), media_type="text/event-stream")


@router.get("/events", responses=STREAM, **rule("see"))
async def all_events(service: Served, who: Who, tuner: Names) -> Response:
    """The numbers of the last events of several tuners, whenever they change."""
    for name in tuner:
        if not who.may("see", name):
            raise Refused(403, f"a {who.role} of tuner {who.tuner!r} may not see {name[:200]!r}")
    await run_in_threadpool(_refuse_unknown, service, tuner)
    listener = service.watch.listen(tuner, who.token)

    async def changes() -> AsyncIterator[str]:
        with listener:
            yield ": here are the events\n\n"
            while not service.watch.closing:
                news = await listener.news(QUIET)
                for name, number in news.items():
                    if name:
                        yield line("change", number, {"tuner": name, "event": number})
                if not news:
                    yield ": nothing new\n\n"

    return StreamingResponse(changes(), media_type="text/event-stream")


async def _woken(listener: Listener) -> bool:
    return bool(await listener.news(QUIET))


def _refuse_unknown(service: Service, names: list[str]) -> None:
    found = service.tables.last_events(names)
    if unknown := [name for name in names if name not in found]:
        raise NotFound(f"there is no tuner {unknown[0][:200]!r} in this store; ask it first")
