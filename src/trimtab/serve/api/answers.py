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
from trimtab.live.store.database import Beside
from trimtab.live.store.faults import Damaged, Taken, Unavailable
from trimtab.live.tuner import Tuner
from trimtab.serve.access.roles import Identity
from trimtab.serve.api.models import Problem
from trimtab.serve.problems import MEDIA, Refused, answer_to
from trimtab.serve.service import Service
from trimtab.serve.tables import microseconds_now

UNKNOWN = 0  # the status of an answer that is not kept yet: its body is what the events decided
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

    The key is a caller's own, for one request and its repetitions. Its row is written in the
    transaction of the effect, so that a repetition finds both or neither, wherever a replica was
    killed. What the events decide (a decision, a receipt) is in the row. A status is known after
    the effect only: it is kept then, and until it is, a repetition gives that of its own time.
    """

    def __init__(self, service: Service, who: Identity, path: str, key: str | None) -> None:
        self.service, self.who = service, who
        self._path, self._key = path, key
        self._request, self._status, self._planned = "", 200, False
        self._again: Callable[[Any], Any] | None = None

    def tuner(self, name: str) -> Tuner:
        """The tuner, whose next event is written with the key.

        Raises:
            NotFound: there is none.
        """
        found = self.service.tuners.get(name)
        return found if self._key is None else found.beside(self._row)

    def row(self) -> Callable[[Any], Beside] | None:
        """What makes the row of the key, given what a verb will answer; None without a key."""
        return None if self._key is None else self._row

    def __call__(
        self,
        body: BaseModel | None,
        act: Callable[[], Any],
        status: int = 200,
        *,
        again: Callable[[Any], Any] | None = None,
    ) -> Response:
        """The answer to `act`, which gives its plain content.

        Args:
            body: what was asked for.
            act: does it, by a tuner of `tuner`.
            status: of the answer.
            again: the content if it was done before and no answer was kept, given what the events
                decided; left out if that is the answer.

        Raises:
            Refused: the key was used for another request.
        """
        if self._key is None:
            return self._done(act, status)
        text = "" if body is None else body.model_dump_json()
        self._request = hashlib.sha256(f"{self._path}\n{text}".encode()).hexdigest()
        self._status, self._again = status, again
        answer = self._earlier()
        if answer is not None:
            return answer
        try:
            answer = self._done(act, status, catch=True)
        except Taken:  # by the same request, which another replica was given too
            answer = self._earlier()
            if answer is None:
                raise
            return answer
        self.service.step("answered")
        if self._again is not None or not self._planned or self._earlier() is None:
            kept = None if self._keep(answer) else self._earlier()
            answer = answer if kept is None else kept  # of two that change nothing, the first
        self.service.step("kept")
        return answer

    def _done(self, act: Callable[[], Any], status: int, *, catch: bool = False) -> Response:
        try:
            answer = shown(act(), status)
        except (Unavailable, Damaged, Taken):
            raise  # nobody knows, or another one does: the same request again must be tried
        except TrimtabError as error:
            if not catch:
                raise
            answer = answer_to(error)
        self.service.watch.touch()
        return answer

    def _earlier(self) -> Response | None:
        """The answer that was given, None if the key is new."""
        rows = self.service.tables.query(
            "SELECT request, status, body FROM trimtab_answers WHERE token = ? AND key = ?",
            self.who.token,
            self._key,
        )
        if not rows:
            return None
        known, status, body = rows[0]
        if known != self._request:
            raise Refused(422, f"the key {self._key!r} was used for another request; use a new key")
        if status == UNKNOWN and self._again is not None:
            answer = shown(self._again(json.loads(body)), self._status)
            self._keep(answer)
            status, body = answer.status_code, answer.body
        media = MEDIA if status >= 400 else "application/json"
        return Response(body, status, REPLAYED, media_type=media)

    def _row(self, answer: Any) -> Beside:
        """The row of the key, for the transaction of the effect."""
        self._planned = True
        plain = answer.to_dict() if hasattr(answer, "to_dict") else None
        values: dict[str, str | int | bytes] = {
            "token": self.who.token,
            "key": self._key or "",
            "request": self._request,
            "status": self._status if self._again is None else UNKNOWN,
            "body": bytes(shown(plain).body).decode(),
            "at": microseconds_now(),
        }
        return Beside("trimtab_answers", values)

    def _keep(self, answer: Response) -> bool:
        """Keep the whole answer; whether there was none."""
        self.service.forget_old_answers()
        with self.service.tables.write() as execute:
            rows = execute(
                "INSERT INTO trimtab_answers (token, key, request, status, body, at) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (token, key) DO UPDATE SET "
                "status = excluded.status, body = excluded.body "
                f"WHERE trimtab_answers.status = {UNKNOWN} RETURNING 1",
                self.who.token,
                self._key,
                self._request,
                answer.status_code,
                bytes(answer.body).decode(),
                microseconds_now(),
            )
        return bool(rows)


async def once(
    request: Request,
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
    state: Service = request.app.state.service
    return Once(state, request.state.identity, request.scope["path"], key)


Do = Annotated[Once, Depends(once)]


def line(name: str, number: int, content: Any) -> str:
    """An event of a stream (text/event-stream)."""
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(finite(content))}\n\n"
