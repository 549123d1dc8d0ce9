"""`trimtab top`: a live view of one tuner, or of all tuners in a store."""

from __future__ import annotations

from typing import Annotated

import typer

from trimtab.cli.live import Storage


def top(
    what: Annotated[
        str,
        typer.Argument(metavar="SPEC|STORE", help="A spec (.toml), or the store: a path or a URL."),
    ],
    storage: Storage = None,
) -> None:
    """Watch one tuner, or all tuners of a store: values, trends, guardrails, why it moved.

    Keys: p pause, r resume, b rollback, a approve, x reject, each after a question; q ends it.
    """
    from trimtab.errors import InvalidInput

    try:
        from trimtab.run.top.app import Top
    except ImportError as error:
        raise InvalidInput(f"trimtab top needs {error.name}: pip install 'trimtab[run]'") from None
    if what.endswith(".toml"):
        from trimtab.live.spec.spec import Spec

        spec = Spec.read(what)
        Top(storage or spec.storage, spec.name).run()
    else:
        Top(what).run()
