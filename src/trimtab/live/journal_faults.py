"""What can go wrong with a journal, by what the caller should do about it.

::

    TrimtabError
        Damaged          what is stored is not what was written: restore, or export the rest
        Unavailable      the store cannot be used now: the same call may work later
        Conflict
            Locked       somebody else decides for this tuner: wait, or let them
            LostLock     the lock held is no longer valid: take it again, and read what is new
"""

from __future__ import annotations

from trimtab.errors import Conflict, TrimtabError


class Damaged(TrimtabError):
    """What is stored is not what was written."""


class Unavailable(TrimtabError):
    """The store cannot be reached or written now; the same call may work later."""


class Locked(Conflict):
    """Another holder decides for this tuner."""


class LostLock(Conflict):
    """The lock was released, taken over, or went with its connection."""


class SnapshotIgnored(UserWarning):
    """A snapshot does not match the journal; events are replayed instead."""
