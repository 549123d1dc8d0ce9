"""The pages, who may see them, and the way in."""

from __future__ import annotations

import gzip
from functools import cache
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, FastAPI, Request
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from trimtab import __version__
from trimtab.plot.page import STYLE, drawing_script
from trimtab.serve.access.authentication import COOKIE, GuardedPage, Who, rule
from trimtab.serve.api.answers import refusals
from trimtab.serve.api.parameters import AfterName, TunerName
from trimtab.serve.page.views import overview_of, tuner_of
from trimtab.serve.problems import Refused
from trimtab.serve.service import Served

router = APIRouter(route_class=GuardedPage, tags=["pages"], default_response_class=HTMLResponse)
IN: dict[int | str, Any] = {303: {"description": "to the way in, or on from there"}}
PAGE = refusals(404, media="text/html") | IN
SCRIPT, STYLES = refusals(media="text/javascript"), refusals(media="text/css")
WRONG: dict[int | str, Any] = {
    401: {"content": {"text/html": {}}, "description": "this token is not valid"}
}
TEMPLATES = Environment(
    loader=PackageLoader("trimtab.serve.page"),
    autoescape=select_autoescape(default=True, default_for_string=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
LARGEST_FORM = 2_000  # bytes of the form with a token
ONE_DAY = 86_400  # seconds


def mount_files(app: FastAPI) -> None:
    """Serve our style and our script."""
    app.mount("/static", StaticFiles(packages=[("trimtab.serve.page", "static")]), name="static")


@router.get("/", responses=PAGE, **rule("see"))
def overview(service: Served, who: Who, after: AfterName = "") -> Response:
    """All tuners at a glance."""
    return _page("overview.html", who=who, view=overview_of(service, who, after))


@router.get("/tuners/{name}", responses=PAGE, **rule("see"))
def tuner(name: TunerName, service: Served, who: Who) -> Response:
    """One tuner: where it stands, why, and what was done to it."""
    found = service.tuners.get(name)
    view, sections = tuner_of(found), service.figures.sections(found)
    values = {"view": view, "sections": sections, "may_act": who.may("act", name)}
    return _page("tuner.html", who=who, **values)


@router.get("/login", responses=PAGE, **rule("anyone"))
def login_form() -> Response:
    """The way in."""
    return _page("login.html", who=None, fault=None)


@router.post("/login", status_code=303, responses=PAGE | WRONG, **rule("anyone"))
async def login(request: Request, service: Served) -> Response:
    """Begin a session with a token."""
    body = b""
    async for part in request.stream():  # of a stranger: no more than it needs is read
        body += part
        if len(body) > LARGEST_FORM:
            raise Refused(413, f"the form has more than {LARGEST_FORM:,} bytes; send a token only")
    try:
        given = parse_qs(body.decode("ascii"), max_num_fields=5)
    except ValueError:
        given = {}
    secret = given.get("token", [""])[0].strip()
    try:
        seconds = service.settings.session
        cookie = await run_in_threadpool(service.gate.session, secret, request, seconds)
    except Refused as error:
        page = _page("login.html", who=None, fault=error.detail)
        page.status_code = error.status
        return page
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        COOKIE,
        cookie,
        max_age=int(service.settings.session),
        httponly=True,
        samesite="strict",
        secure=service.settings.secure,
    )
    return answer


@router.post("/logout", status_code=204, responses=PAGE, **rule("flags"))
def logout(request: Request, service: Served) -> Response:
    """End the session."""
    if secret := request.cookies.get(COOKIE):
        service.tokens.end_session(secret)
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=service.settings.secure)
    return answer


@router.get("/plotly.js", responses=SCRIPT | IN, **rule("flags"))
def plotly(request: Request) -> Response:
    """Plotly's script, from its wheel, compressed for whoever can read it."""
    short = "gzip" in request.headers.get("accept-encoding", "")
    answer = _file(_plotly(short), "text/javascript")
    answer.headers["vary"] = "accept-encoding"
    if short:
        answer.headers["content-encoding"] = "gzip"
    return answer


@router.get("/draw.js", responses=SCRIPT, **rule("anyone"))
def draw() -> Response:
    """The script that draws figures, the same as in reports."""
    return _file(drawing_script(), "text/javascript")


@router.get("/report.css", responses=STYLES, **rule("anyone"))
def style() -> Response:
    """The style of reports."""
    return _file(STYLE, "text/css")


@cache
def _plotly(short: bool) -> bytes:
    from plotly.offline import get_plotlyjs

    script: bytes = get_plotlyjs().encode()
    return gzip.compress(script) if short else script


def _file(text: str | bytes, media: str) -> Response:
    headers = {"cache-control": f"private, max-age={ONE_DAY}"}
    return Response(text, media_type=media, headers=headers)


def _page(name: str, **values: Any) -> HTMLResponse:
    text = TEMPLATES.get_template(name).render(version=__version__, **values)
    return HTMLResponse(text)
