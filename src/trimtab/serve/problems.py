"""Errors as problem+json (RFC 9457), in the words of the command line."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from trimtab.errors import Conflict, InvalidInput, NotFound, SolverFailed, TrimtabError
from trimtab.live.store.faults import Damaged, Unavailable

# The status and the short name of each kind of error; the client turns the name back into the kind.
KINDS: dict[type[TrimtabError], tuple[int, str]] = {
    InvalidInput: (422, "invalid-input"),
    NotFound: (404, "not-found"),
    Conflict: (409, "conflict"),
    SolverFailed: (500, "solver-failed"),
    Damaged: (500, "damaged"),
    Unavailable: (503, "unavailable"),
}
TYPES = {
    400: "bad-request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    409: "conflict",
    413: "too-large",
    415: "unsupported-media-type",
    421: "misdirected",
    422: "invalid-input",
    429: "too-many-requests",
    503: "unavailable",
}
MEDIA = "application/problem+json"
RETRY = 1  # seconds after which an unavailable store may be tried again
LONGEST = 2_000  # characters of a detail


class Refused(Exception):
    """A request that the service itself refuses: no token, no right, too many."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


def problem(
    status: int, detail: str, headers: dict[str, str] | None = None, *, kind: str | None = None
) -> JSONResponse:
    """The answer that says what went wrong."""
    name = kind or TYPES.get(status, "error")
    content = {
        "type": f"urn:trimtab:problem:{name}",
        "title": name.replace("-", " "),
        "status": status,
        "detail": detail[:LONGEST],
    }
    return JSONResponse(content, status, headers, media_type=MEDIA)


def answer_to(error: TrimtabError) -> JSONResponse:
    """The answer to an error that trimtab foresaw."""
    status, kind = next(
        (KINDS[each] for each in type(error).__mro__ if each in KINDS), (500, "error")
    )
    headers = {"retry-after": str(RETRY)} if status == 503 else None
    return problem(status, str(error), headers, kind=kind)


def handle_errors(app: FastAPI) -> None:
    """Have every error of the app answered as a problem."""

    @app.exception_handler(TrimtabError)
    def foreseen(request: Request, error: TrimtabError) -> Response:
        return answer_to(error)

    @app.exception_handler(Refused)
    def refused(request: Request, error: Refused) -> Response:
        return problem(error.status, error.detail, error.headers)

    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, error: RequestValidationError) -> Response:
        said = "; ".join(_fault(each) for each in error.errors()[:10])
        if request.url.path.startswith("/ofrep/"):  # a protocol with words of its own
            return JSONResponse({"errorCode": "PARSE_ERROR", "errorDetails": said}, 400)
        return problem(422, said)

    @app.exception_handler(Exception)  # it is raised again behind the answer, for the log
    def unforeseen(request: Request, error: Exception) -> Response:
        return problem(500, "a fault of the service, which its log names; report it", kind="fault")

    @app.exception_handler(HTTPException)
    def other(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers) if error.headers else None
        return problem(error.status_code, str(error.detail), headers)


def _fault(fault: Any) -> str:
    where = ".".join(str(part) for part in fault["loc"] if part != "body")
    return f"{where or 'body'}: {fault['msg']}"
