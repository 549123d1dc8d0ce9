"""Roles, and what each may do.

::

    viewer      see everything of a tuner, and read its values as flags
    client      ask and tell, and read values as flags: what a program needs, and no more
    operator    all of that, and pause, resume, override, attach, approve, roll back
    admin       all of that, and begin tuners, change specs, give and revoke tokens
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Role = Literal["viewer", "client", "operator", "admin"]
Permission = Literal["anyone", "see", "flags", "decide", "act", "administer"]

ROLES: tuple[Role, ...] = get_args(Role)
ALLOWED: dict[Role, frozenset[Permission]] = {
    "viewer": frozenset({"see", "flags"}),
    "client": frozenset({"flags", "decide"}),
    "operator": frozenset({"see", "flags", "decide", "act"}),
    "admin": frozenset({"see", "flags", "decide", "act", "administer"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who makes a request."""

    token: str  # its id
    name: str  # of the person or program that it was given to; the actor in the journal
    role: Role
    tuner: str | None  # the only one that it may touch; None: all
    csrf: str | None = None  # of a session of the page, which must be sent with every action

    def may(self, permission: Permission, tuner: str | None = None) -> bool:
        """Whether the role allows it, on this tuner if one is named."""
        if permission == "anyone":
            return True
        if permission not in ALLOWED[self.role]:
            return False
        if tuner is None:  # of the whole store, which is more than one tuner
            return permission != "administer" or self.tuner is None
        return self.tuner is None or self.tuner == tuner
