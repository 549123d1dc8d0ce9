"""The server program: uvicorn with our app, its certificate, and an end that loses nothing."""

from __future__ import annotations

import ipaddress
import signal
import socket
import threading
from pathlib import Path
from types import FrameType

import uvicorn

from trimtab.errors import InvalidInput
from trimtab.serve.app import create_app
from trimtab.serve.protocol import BoundedProtocol
from trimtab.serve.service import Service
from trimtab.serve.settings import Settings

GRACE = 20  # seconds for requests under way when the service ends
KEEP_ALIVE = 30  # seconds


class DrainingServer(uvicorn.Server):
    """Says that it is not ready, stops accepting, finishes what is under way, and ends."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self.service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end, on SIGTERM or Ctrl-C; at once on the second one."""
        seconds = self.service.settings.drain
        if self.service.draining or seconds == 0.0:
            self.service.drain()
            super().handle_exit(sig, frame)
            return
        self.service.drain()
        later = threading.Timer(seconds, super().handle_exit, (signal.SIGTERM, None))
        later.daemon = True
        later.start()


def server(
    settings: Settings,
    *,
    host: str,
    port: int,
    certificate: Path | None = None,
    key: Path | None = None,
    proxy: str | None = None,
) -> DrainingServer:
    """A server that is ready to run, with the store open.

    Args:
        settings: the service's.
        host: the address to listen at.
        port: the port; 0 takes a free one.
        certificate: a file with a TLS certificate, in PEM.
        key: the file with its key.
        proxy: the address of a proxy that speaks TLS for us, whose headers are trusted.

    Raises:
        InvalidInput: other machines could reach it without encryption, or a file is missing.
    """
    if (certificate is None) != (key is None):
        raise InvalidInput("a certificate and its key go together: give both, or neither")
    for file in (certificate, key):
        if file is not None and not file.is_file():
            raise InvalidInput(f"{file}: there is no such file")
    if not (loopback(host) or certificate or proxy):
        raise InvalidInput(
            f"host = {host!r}: other machines could read tokens on the way; give --certificate and "
            "--key, or --proxy if one in front of it speaks TLS"
        )
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
        server_header=False,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=KEEP_ALIVE,
        limit_concurrency=settings.streams + 1_000,
        http=BoundedProtocol,
        lifespan="on",
        ws="none",
    )
    return DrainingServer(config, app.state.service)


def loopback(host: str) -> bool:
    """Whether only this machine can reach the address.

    >>> loopback("127.0.0.1"), loopback("localhost"), loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there, so that the port is known before the service runs.

    Raises:
        InvalidInput: the port is taken, or the address is none of this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only on sockets that say that they are TCP; else 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise InvalidInput(f"{host}:{port} cannot be used: {error.strerror}; try --port") from None
    return bound
