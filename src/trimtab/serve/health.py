"""Whether the replica lives, whether it is ready, and its figures for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, Response

from trimtab import __version__
from trimtab.serve.access.authentication import Guarded, rule
from trimtab.serve.api.answers import refusals
from trimtab.serve.problems import problem
from trimtab.serve.service import Served

router = APIRouter(route_class=Guarded, tags=["health"])


@router.get("/livez", responses=refusals(), **rule("anyone"))
def alive() -> Response:
    """Whether the process answers at all; restart it if it does not."""
    return JSONResponse({"alive": True, "version": __version__})


@router.get("/readyz", responses=refusals(), **rule("anyone"))
def ready(service: Served) -> Response:
    """Whether requests are welcome; send them elsewhere if they are not."""
    if service.draining:
        return problem(503, "this replica is about to end")
    if not service.store_answers():
        return problem(503, "the store cannot be used now")
    return JSONResponse({"ready": True})


@router.get("/metrics", responses=refusals(media="text/plain"), **rule("see"))
def metrics(service: Served) -> Response:
    """The figures of this replica, for Prometheus."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
