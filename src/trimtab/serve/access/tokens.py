"""Tokens: given out once, stored as digests, valid until they expire or are revoked."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from trimtab.errors import Conflict, InvalidInput, NotFound
from trimtab.live.store.event import EPOCH, word
from trimtab.serve.access.roles import ROLES, Identity, Role
from trimtab.serve.tables import Tables, microseconds_now

PREFIX = "trimtab"
REMEMBERED = 2.0  # seconds for which a token that was found valid is not looked up again
MOST_REMEMBERED = 10_000
COLUMNS = "id, name, role, tuner, digest, created, expires, revoked, by"


@dataclass(frozen=True, kw_only=True)
class Token:
    """What is known of a token; not the token itself."""

    id: str
    name: str
    role: Role
    tuner: str | None
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    by: str

    def to_dict(self) -> dict[str, Any]:
        """The token's record as plain data."""
        times = {
            key: None if at is None else at.isoformat()
            for key, at in (
                ("created", self.created),
                ("expires", self.expires),
                ("revoked", self.revoked),
            )
        }
        return asdict(self) | times


class Tokens:
    """The tokens of a store, and the sessions that begin with them.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> tokens = Tokens(Tables(f"{folder.name}/a.db"))
    >>> secret, token = tokens.add("maria", "operator", tuner="search", by="setup")
    >>> tokens.identity(secret).name, tokens.identity(secret + "x")
    ('maria', None)
    >>> folder.cleanup()
    """

    def __init__(self, tables: Tables, *, most: int = 1_000) -> None:
        self._tables = tables
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[float, Identity]] = OrderedDict()

    # Giving and taking.

    def add(
        self,
        name: str,
        role: str,
        *,
        tuner: str | None = None,
        lifetime: timedelta | None = None,
        by: str,
    ) -> tuple[str, Token]:
        """A new token, which nobody can read again, and its record.

        Raises:
            InvalidInput: no such role, no name, no lifetime, or too many tokens.
            Conflict: the name is taken.
        """
        chosen = next((each for each in ROLES if each == role), None)
        if chosen is None:
            raise InvalidInput(f"role = {role!r}; give one of {', '.join(ROLES)}")
        word(name, "name")
        if tuner is not None:
            word(tuner, "tuner")
        if chosen == "admin" and tuner is not None:
            raise InvalidInput(
                "an admin is one of all tuners; leave out tuner, or make an operator"
            )
        created = microseconds_now()
        expires = None if lifetime is None else created + lifetime // timedelta(microseconds=1)
        if expires is not None and not created < expires < 2**62:
            raise InvalidInput(f"lifetime = {lifetime}; give more than nothing")
        id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        row = (id, name, chosen, tuner, digest_of(secret), created, expires, None, by)
        with self._tables.write() as execute:
            if self._tables.postgres:  # two adds must not both see room
                execute("LOCK TABLE trimtab_tokens IN EXCLUSIVE MODE")
            live = "SELECT count(*) FROM trimtab_tokens WHERE revoked IS NULL"
            if execute(live)[0][0] >= self._most:
                raise InvalidInput(f"there are {self._most:,} tokens already; revoke some first")
            if execute("SELECT 1 FROM trimtab_tokens WHERE name = ?", name):
                raise Conflict(f"there is, or was, a token of the name {name!r}; give another name")
            marks = ", ".join("?" * len(row))
            execute(f"INSERT INTO trimtab_tokens ({COLUMNS}) VALUES ({marks})", *row)
        return f"{PREFIX}_{id}_{secret}", token_of(row)

    def first(self) -> str | None:
        """The token of a first admin if nobody was ever given one; None otherwise."""
        if self._tables.query("SELECT 1 FROM trimtab_tokens LIMIT 1"):
            return None
        try:
            return self.add("admin", "admin", by="first start")[0]
        except Conflict:  # another replica was first, and has printed it
            return None

    def all(self) -> list[Token]:
        """Every token that was ever given, oldest first."""
        rows = self._tables.query(f"SELECT {COLUMNS} FROM trimtab_tokens ORDER BY created, id")
        return [token_of(row) for row in rows]

    def revoke(self, name: str) -> Token:
        """The token of this name, which is worth nothing from now on, nor are its sessions."""
        now = microseconds_now()
        with self._tables.write() as execute:
            execute(
                "UPDATE trimtab_tokens SET revoked = ? WHERE name = ? AND revoked IS NULL",
                now,
                name,
            )
            rows = execute(f"SELECT {COLUMNS} FROM trimtab_tokens WHERE name = ?", name)
            if not rows:
                raise NotFound(f"there is no token of the name {name!r}")
            execute("DELETE FROM trimtab_sessions WHERE token = ?", rows[0][0])
        with self._lock:
            self._known.clear()
        return token_of(rows[0])

    # Recognising.

    def identity(self, secret: str) -> Identity | None:
        """Who has this token; None if nobody has, or not any more."""
        match = re.fullmatch(rf"{PREFIX}_([0-9a-f]{{12}})_([A-Za-z0-9_-]{{43}})", secret)
        if match is None:
            return None
        if (known := self.remembered(secret)) is not None:
            return known
        digest, now = digest_of(secret), microseconds_now()
        found = self._found(match[1], match[2], now)
        with self._lock:
            self._known.pop(digest, None)
            if found is not None:
                self._known[digest] = (now, found)
            while len(self._known) > MOST_REMEMBERED:
                self._known.popitem(last=False)
        return found

    def remembered(self, secret: str) -> Identity | None:
        """Who has this token, if it was found valid in the last two seconds."""
        with self._lock:
            at, known = self._known.get(digest_of(secret), (0.0, None))
        return known if microseconds_now() - at < REMEMBERED * 1e6 else None

    def _found(self, id: str, rest: str, now: int) -> Identity | None:
        rows = self._tables.query(f"SELECT {COLUMNS} FROM trimtab_tokens WHERE id = ?", id)
        if not rows:
            return None
        _, name, role, tuner, digest, _, expires, revoked, _ = rows[0]
        same = hmac.compare_digest(digest, digest_of(rest))
        if not same or revoked is not None or (expires is not None and expires <= now):
            return None
        return Identity(token=id, name=name, role=role, tuner=tuner)

    # Sessions of the page.

    def begin_session(self, who: Identity, *, seconds: float) -> str:
        """The content of a cookie that stands for the token, valid for these seconds at most."""
        secret, now = secrets.token_urlsafe(32), microseconds_now()
        with self._tables.write() as execute:
            execute("DELETE FROM trimtab_sessions WHERE expires <= ?", now)
            execute(
                "INSERT INTO trimtab_sessions (id, token, digest, expires) VALUES (?, ?, ?, ?)",
                digest_of(secret)[:32],
                who.token,
                digest_of(secret),
                now + int(seconds * 1e6),
            )
        return secret

    def session(self, secret: str) -> Identity | None:
        """Whose session it is; None if it has ended, or its token has."""
        now, digest = microseconds_now(), digest_of(secret)
        rows = self._tables.query(
            "SELECT s.digest, s.expires, t.id, t.name, t.role, t.tuner, t.expires, t.revoked "
            "FROM trimtab_sessions s JOIN trimtab_tokens t ON t.id = s.token WHERE s.id = ?",
            digest[:32],
        )
        if not rows or not hmac.compare_digest(rows[0][0], digest):
            return None
        _, ends, id, name, role, tuner, expires, revoked = rows[0]
        if ends <= now or revoked is not None or (expires is not None and expires <= now):
            return None
        who = Identity(token=id, name=name, role=role, tuner=tuner)
        return replace(who, csrf=digest_of("csrf " + secret)[:32])

    def end_session(self, secret: str) -> None:
        """Forget the session."""
        with self._tables.write() as execute:
            execute("DELETE FROM trimtab_sessions WHERE id = ?", digest_of(secret)[:32])


def digest_of(secret: str) -> str:
    """What is stored of a secret; it is random and long, so that one SHA-256 is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def token_of(row: tuple[Any, ...]) -> Token:
    """The record that a row holds."""
    id, name, role, tuner, _, created, expires, revoked, by = row
    return Token(
        id=id,
        name=name,
        role=role,
        tuner=tuner,
        created=_time(created),
        expires=None if expires is None else _time(expires),
        revoked=None if revoked is None else _time(revoked),
        by=by,
    )


def _time(at: int) -> datetime:
    return (EPOCH + timedelta(microseconds=at)).astimezone(UTC)
