"""`trimtab serve` and `trimtab token`: tuners over HTTP, and who may reach them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from trimtab.serve.access.tokens import Token, Tokens

STORE = "sqlite:///trimtab.db"
PORT = 8321

token = typer.Typer(help="Give, list and revoke the tokens of a service.", no_args_is_help=True)
Storage = Annotated[str, typer.Option(help="A path, sqlite:///path or postgresql://...")]


def serve(
    storage: Storage = STORE,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = PORT,
    host_name: Annotated[
        list[str] | None,
        typer.Option(help="A name by which it is reached, beside localhost; may be repeated."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="A TLS certificate, a PEM file; with --key.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="Its key, a PEM file.")] = None,
    proxy: Annotated[
        str | None, typer.Option(help="The address of a proxy in front that speaks TLS.")
    ] = None,
    open_tuners: Annotated[int, typer.Option(min=1, help="Tuners kept in memory.")] = 256,
    most_tuners: Annotated[int, typer.Option(min=1, help="Tuners in the store.")] = 10_000,
    connections: Annotated[int, typer.Option(min=1, help="Connections to the store.")] = 4,
    rate: Annotated[
        float, typer.Option(min=1.0, help="Requests a second of one token, twice as many at once.")
    ] = 200.0,
    workers: Annotated[
        int, typer.Option(min=0, help="Threads that run loops of tuners with a source and target.")
    ] = 0,
    local: Annotated[
        bool, typer.Option("--local", help="Loops may run programs and read files here.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Tune a simulated system, in a store of its own.")
    ] = False,
    drain: Annotated[
        float, typer.Option(min=0.0, help="Seconds of 'not ready' before the end.")
    ] = 0.0,
) -> None:
    """Serve the tuners of a store: a JSON API, feature flags, and a page for operators."""
    from trimtab.serve.server import listening, server
    from trimtab.serve.settings import LOOPBACK, Settings

    place = f"[{host}]" if ":" in host else host
    stack = ExitStack()
    if demo:
        storage = f"{stack.enter_context(TemporaryDirectory(prefix='trimtab-demo-'))}/demo.db"
    settings = Settings(
        storage=storage,
        hosts=(*LOOPBACK, place, *(host_name or ())),
        secure=certificate is not None or proxy is not None,
        connections=connections,
        open_tuners=open_tuners,
        most_tuners=most_tuners,
        rate=rate,
        burst=int(2 * rate),
        workers=workers,
        local=local,
        drain=drain,
    )
    with stack, listening(host, port) as socket:
        program = server(
            settings, host=host, port=port, certificate=certificate, key=key, proxy=proxy
        )
        scheme = "https" if certificate else "http"
        url = f"{scheme}://{place}:{socket.getsockname()[1]}"
        typer.echo(f"trimtab serves {url}")
        if (secret := program.service.tokens.first()) is not None:
            typer.echo(f"log in, as the first admin; this is shown once: {url}/login#{secret}")
        else:
            typer.echo("log in with a token that you were given; `trimtab token add` gives others")
        if demo:
            from trimtab.serve.demo import Demo

            played = Demo(program.service.tuners, program.service.watch)
            played.start()
            stack.callback(played.stop)
        program.run(sockets=[socket])


@token.command()
def add(
    name: Annotated[str, typer.Argument(help="To whom it is given: the actor in journals.")],
    role: Annotated[str, typer.Option(help="viewer, client, operator or admin.")] = "viewer",
    tuner: Annotated[str | None, typer.Option(help="For this tuner only; all by default.")] = None,
    days: Annotated[float | None, typer.Option(help="Until it expires; never by default.")] = None,
    storage: Storage = STORE,
) -> None:
    """Print a new token; nobody can read it again."""
    from datetime import timedelta

    from trimtab.errors import InvalidInput

    if days is not None and not 0 < days <= 36_500:
        raise InvalidInput(f"days = {days:g}; give a number above 0, 36,500 at most")
    lifetime = None if days is None else timedelta(days=days)
    with _tokens(storage) as tokens:
        secret, _ = tokens.add(name, role, tuner=tuner, lifetime=lifetime, by="command line")
    typer.echo(secret)


@token.command("list")
def list_(storage: Storage = STORE) -> None:
    """Print what is known of every token; not the tokens themselves."""
    with _tokens(storage) as tokens:
        for each in tokens.all():
            typer.echo(_line(each))


@token.command()
def revoke(
    name: Annotated[str, typer.Argument(help="Of the token.")], storage: Storage = STORE
) -> None:
    """Make a token worthless; running replicas know within two seconds."""
    with _tokens(storage) as tokens:
        typer.echo(_line(tokens.revoke(name)))


@contextmanager
def _tokens(storage: str) -> Iterator[Tokens]:
    """The tokens of a store, while they are used."""
    from trimtab.serve.access.tokens import Tokens
    from trimtab.serve.tables import Tables

    tables = Tables(storage)
    try:
        yield Tokens(tables)
    finally:
        tables.close()


def _line(each: Token) -> str:
    of = "all tuners" if each.tuner is None else f"tuner {each.tuner}"
    ends = "" if each.expires is None else f", expires {each.expires:%Y-%m-%d %H:%M} UTC"
    gone = "" if each.revoked is None else f", revoked {each.revoked:%Y-%m-%d %H:%M} UTC"
    return (
        f"{each.name}: {each.role} of {of}, given {each.created:%Y-%m-%d} by {each.by}{ends}{gone}"
    )
