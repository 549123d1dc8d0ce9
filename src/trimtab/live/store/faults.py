"""What can go wrong with a journal, by what the caller should do about it.

::

    TrimtabError
        Damaged          what is stored is not what was written: restore, or export the rest
        Unavailable      the store cannot be used now: the same call may work later
        Conflict
            Taken        a row that was to be written with events is there already
"""

from __future__ import annotations

from trimtab.errors import Conflict, TrimtabError


class Damaged(TrimtabError):
    """What is stored is not what was written."""


class Unavailable(TrimtabError):
    """The store cannot be reached or written now; the same call may work later."""


class Taken(Conflict):
    """The row that was to be written with the events is there already; nothing was written."""


class SnapshotIgnored(UserWarning):
    """A snapshot does not match the journal; events are replayed instead."""
