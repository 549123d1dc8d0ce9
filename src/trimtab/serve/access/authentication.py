"""Who makes a request, and whether they may: the one rule that every endpoint names."""

from __future__ import annotations

import hmac
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, get_args

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import BaseRoute

from trimtab.serve.access.door import SAFE
from trimtab.serve.access.roles import Identity, Permission
from trimtab.serve.access.tokens import Tokens
from trimtab.serve.problems import Refused
from trimtab.serve.settings import Settings

COOKIE = "trimtab_session"
CHALLENGE = {"www-authenticate": 'Bearer realm="trimtab"'}
MOST_BUCKETS = 10_000

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Limiter:
    """A rate limit for each name, by a token bucket."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str, now: float) -> float:
        """Seconds to wait before a request is allowed; 0 allows this one, and counts it."""
        with self._lock:
            tokens, at = self._buckets.pop(name, (float(self._burst), now))
            tokens = min(self._burst, tokens + (now - at) * self._rate)
            enough = tokens >= 1.0
            self._buckets[name] = (tokens - 1.0 if enough else tokens, now)
            while len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
            return 0.0 if enough else (1.0 - tokens) / self._rate


class Gate:
    """Finds out who makes a request, and limits how many requests they make."""

    def __init__(self, tokens: Tokens, settings: Settings) -> None:
        self.tokens = tokens
        self._known = Limiter(settings.rate, settings.burst)
        self._strangers = Limiter(settings.stranger_rate, settings.stranger_burst)

    def remembered(self, request: Request) -> Identity | None:
        """Who makes the request, if their token was seen just now: the store is not read."""
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        who = self.tokens.remembered(secret.strip()) if kind.lower() == "bearer" else None
        if who is not None:
            self._slow_down(self._known.wait(who.token, time.monotonic()))
        return who

    def identify(self, request: Request) -> Identity:
        """Who makes the request.

        Raises:
            Refused: there is no valid token, no proof that our own page sent it, or too many came.
        """
        who = self._of_header(request)
        if who is None and "authorization" not in request.headers:
            who = self._of_cookie(request)
        now = time.monotonic()
        if who is None:
            address = request.client.host if request.client else "?"
            self._slow_down(self._strangers.wait(address, now))
            raise Refused(401, "give a valid token: Authorization: Bearer trimtab_...", CHALLENGE)
        self._slow_down(self._known.wait(who.token, now))
        return who

    def session(self, secret: str, request: Request, seconds: float) -> str:
        """The cookie of a new session of the token; strangers may not try too often.

        Raises:
            Refused: the token is not valid, or too many came.
        """
        who = self.tokens.identity(secret)
        if who is None:
            address = request.client.host if request.client else "?"
            self._slow_down(self._strangers.wait(address, time.monotonic()))
            raise Refused(401, "this token is not valid, or not any more")
        return self.tokens.begin_session(who, seconds=seconds)

    def _of_header(self, request: Request) -> Identity | None:
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        return self.tokens.identity(secret.strip()) if kind.lower() == "bearer" else None

    def _of_cookie(self, request: Request) -> Identity | None:
        secret = request.cookies.get(COOKIE)
        who = None if secret is None else self.tokens.session(secret)
        if who is not None and request.method not in SAFE:
            given = request.headers.get("x-csrf-token", "")
            if not hmac.compare_digest(given.encode(), (who.csrf or "").encode()):
                raise Refused(403, "X-CSRF-Token is missing or wrong; load the page again")
        return who

    def _slow_down(self, seconds: float) -> None:
        if seconds > 0.0:
            wait = {"retry-after": str(int(seconds) + 1)}
            raise Refused(429, f"too many requests; come again in {seconds:.2g} s", wait)


class Guarded(APIRoute):
    """An endpoint behind its rule: nothing of a body is read before it is known who sends it.

    Who has the permission passes, on the tuner that the path names if it names one.
    """

    def get_route_handler(self) -> Handler:
        """What answers a request."""
        answer, permission = super().get_route_handler(), permission_of(self)
        if permission == "anyone":
            return answer

        async def guarded(request: Request) -> Response:
            request.state.identity = await self._allowed(request, permission)
            return await answer(request)

        return guarded

    async def _allowed(self, request: Request, permission: Permission) -> Identity:
        """Who makes the request, if they may.

        Raises:
            Refused: they may not.
        """
        gate: Gate = request.app.state.service.gate
        who = gate.remembered(request)
        if who is None:
            who = await run_in_threadpool(gate.identify, request)
        tuner = request.path_params.get("name")
        if not who.may(permission, tuner):
            of = "all tuners" if tuner is None else f"tuner {tuner!r}"
            held = "" if who.tuner is None else f" of tuner {who.tuner!r}"
            raise Refused(403, f"a {who.role}{held} has no right to {permission} for {of}")
        return who


class GuardedPage(Guarded):
    """The same for a page: who has not logged in is sent to the way in."""

    async def _allowed(self, request: Request, permission: Permission) -> Identity:
        try:
            return await super()._allowed(request, permission)
        except Refused as error:
            if error.status == 401:
                raise Refused(303, "log in first", {"location": "/login"}) from None
            raise


def permission_of(route: BaseRoute) -> Permission:
    """What an endpoint asks of who uses it.

    Raises:
        RuntimeError: it has no rule, and would be open to everybody.
    """
    extra: dict[str, Any] = getattr(route, "openapi_extra", None) or {}
    permission: Any = extra.get("x-permission")
    if permission not in get_args(Permission) or not isinstance(route, Guarded):
        path = getattr(route, "path", route)
        raise RuntimeError(f"{path} has no rule: say who may use it, by Guarded and **rule(...)")
    allowed: Permission = permission
    return allowed


def rule(permission: Permission) -> dict[str, Any]:
    """What an endpoint says of itself: who may use it, for the service and for the document."""
    extra: dict[str, Any] = {"x-permission": permission}
    return {"openapi_extra": extra | ({"security": []} if permission == "anyone" else {})}


async def identity(request: Request) -> Identity:
    """Who makes the request; the endpoint's rule has found out."""
    who: Identity = request.state.identity
    return who


Who = Annotated[Identity, Depends(identity)]
