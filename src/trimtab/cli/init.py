"""`trimtab init`: a spec to begin with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

Kind = Literal["prometheus", "http", "command", "sql"]
Place = Literal["command", "http", "file", "redis"]


def init(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = Path(
        "trimtab.toml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of specs instead.")
    ] = False,
    source: Annotated[
        Kind | None, typer.Option(help="With a source: prometheus, http, command or sql.")
    ] = None,
    target: Annotated[
        Place | None, typer.Option(help="With a target: command, http, file or redis.")
    ] = None,
    webhook: Annotated[bool, typer.Option("--webhook", help="With a webhook.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a commented spec of a live tuner, to be edited and checked with `trimtab doctor`."""
    if schema:
        from trimtab.live.spec.schema import schema as published

        typer.echo(json.dumps(published(), indent=2))
        return
    from trimtab.errors import Conflict, InvalidInput
    from trimtab.live.spec.connect.examples import connections
    from trimtab.live.spec.spec import example

    content = example() + connections(source, target, webhook=webhook)
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(content)
    except FileExistsError:
        raise Conflict(f"{path} is there already; give another name, or --force") from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{path} cannot be written: {reason}") from None
    text = f"Wrote {path}. Edit it, then run: trimtab doctor {path}"
    typer.echo(json.dumps({"path": str(path)}) if as_json else text)
