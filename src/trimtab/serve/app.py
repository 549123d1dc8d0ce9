"""The app: every endpoint with its rule, behind the door, with its news and its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from itertools import chain
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from trimtab import __version__
from trimtab.live.clock import utc
from trimtab.live.store.database import Step
from trimtab.serve import health
from trimtab.serve.access.authentication import Guarded, permission_of, rule
from trimtab.serve.access.door import Door
from trimtab.serve.api import administration, reads, verbs
from trimtab.serve.api.answers import refusals
from trimtab.serve.api.models import Problem
from trimtab.serve.flags import endpoints
from trimtab.serve.metrics import Measured
from trimtab.serve.page import pages
from trimtab.serve.problems import handle_errors
from trimtab.serve.service import Service
from trimtab.serve.settings import Settings

DESCRIPTION = """Tuners over HTTP. A request carries a token: `Authorization: Bearer trimtab_...`.
`x-permission` of an operation says what the token's role must allow. Errors are problem+json
(RFC 9457), in the words of the command line."""
PARTS = (verbs, reads, administration, endpoints, health, pages)
SCHEME = {"type": "http", "scheme": "bearer", "description": "trimtab_..., given by an admin"}


def create_app(
    settings: Settings,
    *,
    clock: Callable[[], datetime] = utc,
    step: Step = lambda name: None,
) -> FastAPI:
    """The service as an ASGI app, with its store open.

    Raises:
        InvalidInput: the store is none.
        Unavailable: the store cannot be reached.
    """
    service = Service(settings, clock=clock, step=step)

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(service.watch.run())
        service.fleet.start()
        try:
            yield
        finally:
            service.drain()
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            await run_in_threadpool(service.close)

    app = FastAPI(
        title="trimtab",
        version=__version__,
        lifespan=running,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.router.route_class = Guarded
    handle_errors(app)
    routers = [part.router for part in PARTS]
    for router in routers:
        app.include_router(router)

    @app.get("/api/v1/openapi.json", responses=refusals(), tags=["reading"], **rule("flags"))
    def document() -> Response:
        """This document."""
        return JSONResponse(document_of(app))

    pages.mount_files(app)
    refuse_unruled(app.routes, *(router.routes for router in routers))
    app.add_middleware(Measured)
    app.add_middleware(Door, settings=settings)
    return app


def refuse_unruled(*parts: Iterable[BaseRoute]) -> None:
    """No endpoint without a rule: one that was forgotten would be open to everybody."""
    for route in chain(*parts):
        if isinstance(route, APIRoute):
            permission_of(route)


def document_of(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes
        )
        parts = found.setdefault("components", {})
        parts["securitySchemes"] = {"token": SCHEME}
        parts["schemas"].setdefault("Problem", Problem.model_json_schema())
        for name in ("HTTPValidationError", "ValidationError"):
            parts["schemas"].pop(name, None)
        found["security"] = [{"token": []}]
        app.openapi_schema = found
    return app.openapi_schema
