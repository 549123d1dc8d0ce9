"""What is refused before anything is read of a request, and the headers of every answer."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trimtab.serve.problems import problem
from trimtab.serve.settings import Settings

SAFE = ("GET", "HEAD", "OPTIONS")
# Plotly sets styles; scripts come from files of ours only.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {  # of every answer that does not say otherwise
    "cache-control": "no-store",
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none, a browser hides the Origin of our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
ONE_YEAR = 31_536_000  # seconds


class Door:
    """Passes on what has the right Host, comes from our own pages or from a program, and fits.

    A browser says in Origin and Sec-Fetch-Site which page sends a request. Programs send neither.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = frozenset(host.lower() for host in settings.hosts)
        secure = {"strict-transport-security": f"max-age={ONE_YEAR}"} if settings.secure else {}
        self._headers = [
            (name.encode(), value.encode()) for name, value in (HEADERS | secure).items()
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the service answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        sending = self._with_headers(send)
        if refusal := self._refusal(scope["method"], headers):
            await problem(*refusal)(scope, receive, sending)
            return
        await self._app(scope, self._limited(receive), sending)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str] | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or name_of(hosts[0]) not in self._hosts:
            return 421, (
                f"it is not reached by the name {', '.join(hosts)[:200]!r}; start it with "
                "--host-name to allow one"
            )
        if method not in SAFE:
            origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
            foreign = origin is not None and origin.lower() not in self._origins(hosts[0])
            if foreign or site not in ("same-origin", "none"):
                return 403, f"a page of {(origin or 'another site')[:200]} may not act here"
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            return 400, "Content-Length is no number"
        if len(length) > 18 or int(length) > self._settings.body:
            return 413, self._too_large()
        return None

    def _origins(self, host: str) -> tuple[str, ...]:
        """The origins of our own pages."""
        schemes = ("https",) if self._settings.secure else ("http", "https")
        return tuple(f"{scheme}://{host.lower()}" for scheme in schemes)

    def _too_large(self) -> str:
        return f"a request may have {self._settings.body:,} bytes; send less at once"

    def _limited(self, receive: Receive) -> Receive:
        received = 0

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._settings.body:
                raise HTTPException(413, self._too_large())
            return message

        return limited

    def _with_headers(self, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                added = [header for header in self._headers if header[0] not in given]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        return sending


def name_of(host: str) -> str:
    """The host without its port, in small letters.

    >>> name_of("LocalHost:8321"), name_of("[::1]:80"), name_of("[::1]")
    ('localhost', '[::1]', '[::1]')
    """
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isascii() and port.isdigit() else host).lower()
