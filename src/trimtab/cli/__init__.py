"""The command line: `trimtab`. One file per command, or per family of commands.

Commands import what they need when they run, so that `trimtab --help` is quick.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from trimtab import __version__
from trimtab.cli.demo import demo
from trimtab.cli.doctor import doctor
from trimtab.cli.errata import errata
from trimtab.cli.export import export
from trimtab.cli.groups import Grouped
from trimtab.cli.history import history
from trimtab.cli.init import init
from trimtab.cli.live import register
from trimtab.cli.report import report
from trimtab.cli.reproduce import reproduce
from trimtab.cli.run import run
from trimtab.cli.serve import serve, token
from trimtab.cli.storage import storage
from trimtab.cli.sweep import sweep
from trimtab.cli.top import top
from trimtab.errors import TrimtabError

app = typer.Typer(
    name="trimtab",
    help="Tune the continuous knobs of a live system online, and move them as little as possible.",
    no_args_is_help=True,
    cls=Grouped,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(reproduce)
app.command()(errata)
app.command()(sweep)
app.command()(init)
app.command()(doctor)
register(app)
app.command()(run)
app.command()(top)
app.command()(report)
app.command()(history)
app.command()(export)
app.command()(serve)
app.add_typer(token, name="token")
app.add_typer(storage, name="storage")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trimtab {__version__}")
        raise typer.Exit


@app.callback()
def trimtab(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Tune the continuous knobs of a live system online, and move them as little as possible."""


def main() -> None:
    """Run the command line; an error that trimtab foresaw ends it with one clear line."""
    try:
        app()
    except TrimtabError as error:
        typer.echo(f"trimtab: {error}", err=True)
        sys.exit(error.exit_code)
