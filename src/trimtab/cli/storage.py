"""`trimtab storage`: look after the store of a live tuner."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from datetime import timedelta

storage = typer.Typer(help="Look after the store of a live tuner.", no_args_is_help=True)

Url = Annotated[
    str, typer.Argument(metavar="URL", help="A path, sqlite:///path or postgresql://...")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


Repair = Annotated[
    bool,
    typer.Option(
        "--repair",
        help="First rebuild indexes and free pages, if no event is lost, and set clocks right.",
    ),
]


@storage.command()
def check(url: Url, as_json: Json = False, repair: Repair = False) -> None:
    """Verify the whole store, every event and every digest; exit 1 and name what is wrong."""
    from trimtab.live.clock import ahead, set_right
    from trimtab.live.store.faults import Damaged
    from trimtab.live.store.opening import open_journal

    with open_journal(url, read_only=True) as journal, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = journal.repair() if repair else None
            chains = journal.check()
            skewed = ahead(journal)
            if repair and skewed:
                with open_journal(url) as writer:
                    for tuner in skewed:
                        set_right(writer, tuner)
                chains = journal.check()
            for chain in chains:
                journal.load_snapshot(chain.tuner)
        except Damaged as fault:
            if not as_json:
                raise
            typer.echo(json.dumps({"intact": False, "fault": str(fault)}))
            raise typer.Exit(Damaged.exit_code) from None
    notes = [str(note.message) for note in seen]
    notes += [_skewed(tuner, by, repaired=repair) for tuner, by in skewed.items()]
    if as_json:
        tuners = [{"name": c.tuner, "events": c.events, "digest": c.digest.hex()} for c in chains]
        report = {"intact": True, "format": journal.format, "tuners": tuners, "notes": notes}
        report |= {"rebuilt": True, "found": found} if repair else {}
        typer.echo(json.dumps(report))
        return
    if repair:
        typer.echo(f"before: {found or 'nothing was seen to be wrong'}")
        typer.echo("every event proved intact; indexes and free pages were rebuilt")
    for chain in chains:
        typer.echo(
            f"{chain.tuner}: {chain.events:,} events, the last digest is {chain.digest.hex()}"
        )
    for note in notes:
        typer.echo(f"note: {note}")
    typer.echo(f"format {journal.format}, {sum(c.events for c in chains):,} events, all intact")


def _skewed(tuner: str, by: timedelta, *, repaired: bool) -> str:
    """What is said of a tuner whose last event is ahead of the clock."""
    if repaired:
        return f"tuner {tuner!r}: its time was ahead by {by}; it goes on from now"
    return (
        f"tuner {tuner!r}: its last event is {by} ahead of the clock, and its time stands still "
        "until then; if the clock is right now, --repair sets it right"
    )


@storage.command()
def upgrade(url: Url, as_json: Json = False) -> None:
    """Bring the store to the newest format, and say what was done; today there is no older one."""
    from trimtab.live.store.opening import open_journal

    with open_journal(url, read_only=True) as journal:
        text = f"format {journal.format} is the newest: nothing to do, nothing was changed"
        typer.echo(json.dumps({"format": journal.format, "changed": False}) if as_json else text)


@storage.command()
def export(
    url: Url,
    tuner: Annotated[str | None, typer.Option(help="Of this tuner only.")] = None,
) -> None:
    """Print every event as one line of JSON, verified; of a damaged store, those before the fault.

    Then exit 1 and say what is wrong.
    """
    from trimtab.errors import NotFound
    from trimtab.live.store.opening import open_journal

    with open_journal(url, read_only=True) as journal:
        tuners = journal.tuners()
        if tuner is not None and tuner not in tuners:
            raise NotFound(
                f"no tuner {tuner!r}; there are {', '.join(map(repr, tuners)) or 'none'}"
            )
        for name in tuners if tuner is None else [tuner]:
            for event in journal.events(name):
                typer.echo(event.line())
        journal.refuse_damage()
