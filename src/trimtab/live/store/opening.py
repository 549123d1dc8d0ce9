"""Where a journal can be: a path or a URL names the database.

::

    journal = open_journal("tuner.db")              # SQLite
    journal = open_journal("postgresql://host/db")  # PostgreSQL, with the extra [postgres]
"""

from __future__ import annotations

import errno
import os

from trimtab.errors import InvalidInput
from trimtab.live.store.address import address_of
from trimtab.live.store.database import Step
from trimtab.live.store.journal import Journal


def open_journal(
    url: str | os.PathLike[str],
    *,
    read_only: bool = False,
    timeout: float = 30.0,
    step: Step = lambda name: None,
) -> Journal:
    """The journal at a path or URL; a new one if nothing is there.

    Args:
        url: a path, "sqlite:///path", or "postgresql://...", with `${NAME}` for environment
            variables.
        read_only: only look: nothing is created, checked or tidied up. Events are verified as
            they are read, and `check` verifies all.
        timeout: seconds to wait for other writers before `Unavailable` is raised.
        step: called at each of `database.STEPS` with its name, to test what happens there.

    Raises:
        InvalidInput: no such kind of URL, something else is there, or a newer format.
        NotFound: it is to be read only, and nothing is there.
        Damaged: the store is corrupt, or an acknowledged event is missing.
        Unavailable: the store cannot be reached or written.
    """
    address = address_of(url)
    if address.path is None:
        try:
            from trimtab.live.store.postgres_database import PostgresDatabase
        except ImportError as error:
            raise InvalidInput(
                f"a journal in PostgreSQL needs psycopg 3 ({error}): "
                "pip install 'trimtab[postgres]'"
            ) from None
        return Journal(PostgresDatabase(address, read_only=read_only, timeout=timeout, step=step))
    from trimtab.live.store.sqlite_database import SqliteDatabase, create

    path = address.path
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:  # a null character is a ValueError
        if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
            said = f"{address.shown!r} cannot be the name of a file: {error}"
            raise InvalidInput(said) from None
    if not read_only:
        create(path, timeout=timeout)
        with Journal(
            SqliteDatabase(path, read_only=True, timeout=timeout, step=lambda name: None)
        ) as look:
            look.refuse_damage()
    return Journal(SqliteDatabase(path, read_only=read_only, timeout=timeout, step=step))
