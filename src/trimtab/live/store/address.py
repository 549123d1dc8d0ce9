"""Where a journal is: a path, or a URL whose password nothing shows.

Passwords are awkward: they hold `/`, `?`, `#`, `%`, `:`, `@` or `[`, which mean something in a URL.
So the URL is taken apart here, leniently, and the database gets its parts. `${NAME}` stands for an
environment variable, whose value is taken as it is. What is written with `%` is decoded where it
is a valid escape, as URLs have it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from trimtab.errors import InvalidInput
from trimtab.live.spec.connect.environment import MASK, REFERENCE, expanded
from trimtab.plain.faults import masked

POSTGRES = re.compile(r"postgres(?:ql)?(?:\+[a-z0-9]+)?://(.*)", re.DOTALL)
# What was meant for a server, and would become the name of a file with the password in it.
SERVER = re.compile(
    r"(postgres|mysql|mariadb|redis)\w*(\+\w+)?:|.*:.*@|.*\bpassword\s*=",
    re.DOTALL | re.IGNORECASE,
)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*", re.IGNORECASE)
HINT = (
    "give a path, sqlite:///path (an absolute path has four slashes) or "
    "postgresql://user@host/database"
)


@dataclass(frozen=True, slots=True)
class Address:
    """A place for a journal. Only `shown` is meant to be read by people."""

    shown: str
    path: Path | None = None  # of a SQLite file
    options: dict[str, str] = field(default_factory=dict, repr=False)  # of a PostgreSQL connection

    def masked(self, text: str) -> str:
        """The text without the password."""
        for name in ("password", "sslpassword"):
            if secret := self.options.get(name, ""):
                text = text.replace(secret, MASK)
        return text


def address_of(url: str | os.PathLike[str]) -> Address:
    """The place that a path or URL names.

    >>> address_of("postgresql://me:a/b?c#d%:e@f[@db.example:5433/tuning?sslmode=require").shown
    'postgresql://me@db.example:5433/tuning'
    >>> address_of("sqlite:///tuner.db").path
    PosixPath('tuner.db')

    Raises:
        InvalidInput: no such kind of place; the message has no password in it.
    """
    text = os.fspath(url)
    if REFERENCE.fullmatch(text):
        text = expanded(text, "storage")
    if (match := POSTGRES.fullmatch(text)) is not None:
        return _server(match[1])
    name = expanded(text.removeprefix("sqlite:///"), "storage")
    server = not text.startswith("sqlite:///") and SERVER.match(text)
    if "://" in name or name in ("", ":memory:") or server:
        raise InvalidInput(f"{without_password(text)!r} is no place for a journal; {HINT}")
    return Address(name, Path(name))


def without_password(url: str) -> str:
    """Any URL as it may be shown, however malformed.

    >>> without_password("mysql://me:se/cr@et@host/db?password=x")
    'mysql://me@host/db'
    """
    scheme, colon, rest = url.partition("://")
    if not colon or not SCHEME.fullmatch(scheme):
        return masked(url)
    user, at, place = rest.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{place.partition('?')[0]}"


def _server(rest: str) -> Address:
    """The address of a database on a server, from what follows the scheme."""
    user, place = _divided(rest)
    name, _, password = user.partition(":")
    where, _, query = place.partition("?")
    hosts, _, database = where.partition("/")
    pairs = [_host(each) for each in hosts.split(",")]
    options = {
        "user": name,
        "password": password,
        "host": ",".join(host for host, _ in pairs),
        "port": ",".join(port for _, port in pairs),
        "dbname": database,
    }
    plain = {key: expanded(unquote(x), "storage") for key, x in options.items() if x.strip(",")}
    plain |= {key: expanded(x, "storage") for key, x in parse_qsl(query, keep_blank_values=True)}
    if re.search(r"[^0-9,]", plain.get("port", "")):
        raise InvalidInput(
            "the port in the URL of the storage is no number; is there no @ before the host?"
        )
    at = f"{plain['user']}@" if "user" in plain else ""
    return Address(f"postgresql://{at}{unquote(hosts)}/{unquote(database)}", None, plain)


def _divided(rest: str) -> tuple[str, str]:
    """User and password, and the rest: as the standard has it, or at the last @ if that cannot be.

    A password with a `/`, `?` or `#` that was not escaped ends the standard's user too early.
    """
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    path, _, query = rest[len(authority) :].partition("?")
    standard = "@" in authority or ":" not in authority
    odd = "@" in path or "#" in path or (query and "=" not in query.partition("@")[0])
    if standard and not odd:
        user, _, host = authority.rpartition("@")
        return user, host + rest[len(authority) :]
    user, _, place = rest.rpartition("@")
    return user, place


def _host(text: str) -> tuple[str, str]:
    """A host and its port; an IPv6 address is in brackets."""
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        return host, port.removeprefix(":")
    host, _, port = text.partition(":")
    return host, port
