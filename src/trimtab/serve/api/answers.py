"""Answers: plain JSON, and the same again for the same idempotency key."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from trimtab.errors import TrimtabError
from trimtab.live.store.faults import Damaged, Unavailable
from trimtab.serve.access.authentication import Who
from trimtab.serve.access.roles import Identity
from trimtab.serve.api.models import Problem
from trimtab.serve.problems import MEDIA, Refused, answer_to
from trimtab.serve.service import Served, Service
from trimtab.serve.tables import microseconds_now

REPLAYED = {"idempotency-replayed": "true"}
ERRORS = {
    400: "the request cannot be read",
    401: "no valid token",
    403: "no right to do it",
    404: "no such tuner or decision",
    409: "it contradicts what is recorded",
    413: "too large",
    422: "a value is malformed",
    429: "too many requests",
    503: "the store cannot be used now",
}


def documented(model: type[BaseModel], *errors: int, status: int = 200) -> dict[int | str, Any]:
    """What the document says of an endpoint's answers."""
    return {**refusals(*errors), status: {"model": model}}


def refusals(*errors: int, media: str | None = None) -> dict[int | str, Any]:
    """What the document says of faults; `media` is that of the answer if it is no JSON."""
    always = (400, 401, 403, 413, 422, 429, 503)
    found: dict[int | str, Any] = {
        code: {"description": ERRORS[code], "content": {MEDIA: {"schema": _ref(Problem)}}}
        for code in sorted({*always, *errors})
    }
    return found if media is None else {**found, 200: {"content": {media: {}}, "description": "OK"}}


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def shown(content: Any, status: int = 200) -> Response:
    """The content as JSON; numbers that JSON has no words for are null."""
    return JSONResponse(finite(content), status)


def finite(content: Any) -> Any:
    """The content with None for infinities and NaN.

    >>> finite({"a": [1, float("inf")]})
    {'a': [1, None]}
    """
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {str(key): finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [finite(value) for value in content]
    return content


class Once:
    """Does a thing, or gives the answer that was given when it was done under the same key.

    The key is a caller's own, for one request and its repetitions. An effect and its answer are not
    one transaction: a replica that is killed between them leaves no answer, and the repetition
    is carried out. That has no second effect, because every verb of a tuner is idempotent itself.
    """

    def __init__(self, path: str, service: Service, who: Identity, key: str | None) -> None:
        self._path, self._service, self._who, self._key = path, service, who, key

    def __call__(
        self, body: BaseModel | None, act: Callable[[], Any], status: int = 200
    ) -> Response:
        """The answer to `act`, which gives its plain content; `body` is what was asked for.

        Raises:
            Refused: the key was used for another request.
        """
        if self._key is None:
            return self._done(act, status)
        text = "" if body is None else body.model_dump_json()
        request = hashlib.sha256(f"{self._path}\n{text}".encode()).hexdigest()
        if (earlier := self._earlier(request)) is not None:
            return earlier
        answer = self._done(act, status, catch=True)
        self._keep(request, answer)
        kept = self._earlier(request)  # of two at the same time, both give the first one's
        return answer if kept is None or kept.body == answer.body else kept

    def _done(self, act: Callable[[], Any], status: int, *, catch: bool = False) -> Response:
        try:
            answer = shown(act(), status)
        except (Unavailable, Damaged):
            raise  # nobody knows: the same request again must be tried
        except TrimtabError as error:
            if not catch:
                raise
            answer = answer_to(error)
        self._service.watch.touch()
        return answer

    def _earlier(self, request: str) -> Response | None:
        rows = self._service.tables.query(
            "SELECT request, status, body FROM trimtab_answers WHERE token = ? AND key = ?",
            self._who.token,
            self._key,
        )
        if not rows:
            return None
        known, status, body = rows[0]
        if known != request:
            raise Refused(422, f"the key {self._key!r} was used for another request; use a new key")
        media = MEDIA if status >= 400 else "application/json"
        return Response(body, status, REPLAYED, media_type=media)

    def _keep(self, request: str, answer: Response) -> None:
        now = microseconds_now()
        oldest = now - int(self._service.settings.answers * 1e6)
        with self._service.tables.write() as execute:
            execute("DELETE FROM trimtab_answers WHERE at < ?", oldest)
            execute(
                "INSERT INTO trimtab_answers (token, key, request, status, body, at) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                self._who.token,
                self._key,
                request,
                answer.status_code,
                bytes(answer.body).decode(),
                now,
            )


async def once(
    request: Request,
    service: Served,
    who: Who,
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            min_length=1,
            max_length=200,
            description="The same key and request again give the same answer for a day.",
        ),
    ] = None,
) -> Once:
    """What does the work of a request that may come again."""
    return Once(request.url.path, service, who, key)


Do = Annotated[Once, Depends(once)]


def line(name: str, number: int, content: Any) -> str:
    """An event of a stream (text/event-stream)."""
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(finite(content))}\n\n"
