"""`${NAME}` in a spec: a secret that stays in the environment, and out of journals and logs.

A spec is stored in the journal as it is written, so that a URL or a header with a password names an
environment variable instead. It is looked up when the connection is opened. Everything that takes
such a text uses this module: sources, targets, webhooks and storage URLs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, unquote

from trimtab.errors import InvalidInput

USER = re.compile(r"([a-z][a-z0-9+.-]*://)([^/?#\s]*@)?(.*)", re.DOTALL | re.IGNORECASE)
REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
MASK = "***"
LEAST = 4  # characters of a secret that is masked: shorter ones are parts of ordinary words


def references(text: str) -> list[str]:
    """The variables that a text names, in order.

    >>> references("redis://:${REDIS_PASSWORD}@cache:6379/0")
    ['REDIS_PASSWORD']
    """
    return REFERENCE.findall(text)


def expanded(text: str, where: str, environment: Mapping[str, str] = os.environ) -> str:
    """The text with every `${NAME}` replaced by that variable's value.

    A password in a URL is escaped, so that it may hold any characters.

    >>> expanded("${SCHEME}://cache", "target.url", {"SCHEME": "redis"})
    'redis://cache'
    >>> expanded("redis://:${PW}@cache", "target.url", {"PW": "a/b@c"})
    'redis://:a%2Fb%40c@cache'
    >>> expanded("${TOKEN}", "source.headers", {})
    Traceback (most recent call last):
        ...
    trimtab.errors.InvalidInput: source.headers: the environment variable TOKEN is not set; ...

    Args:
        text: as the spec has it.
        where: its place in the spec, for the message.
        environment: variables by name.

    Raises:
        InvalidInput: a variable is not set; the message names it and its place, never a value.
    """
    for name in references(text):
        if name not in environment:
            raise InvalidInput(
                f"{where}: the environment variable {name} is not set; set it for this process"
            )
    if (url := USER.fullmatch(text)) is not None and url[2]:
        user = REFERENCE.sub(lambda match: quote(environment[match[1]], safe=""), url[2])
        return url[1] + user + expanded(url[3], where, environment)
    return REFERENCE.sub(lambda match: environment[match[1]], text)


class Secrets:
    """Masks the values of variables in whatever is about to be printed."""

    def __init__(self, texts: Iterable[str], environment: Mapping[str, str] = os.environ) -> None:
        """The secrets that these texts name."""
        named = {environment.get(name, "") for text in texts for name in references(text)}
        values = {form for value in named for form in _forms(value)}
        kept = sorted((v for v in values if len(v) >= LEAST), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, kept))) if kept else None

    def masked(self, text: str) -> str:
        """The text without any of the secrets.

        >>> Secrets(["x:${PW}@y"], {"PW": "hunter22"}).masked("cannot reach x:hunter22@y")
        'cannot reach x:***@y'
        """
        return text if self._pattern is None else self._pattern.sub(MASK, text)


def _forms(value: str) -> Iterator[str]:
    """How a secret may come back in a message: as it is, escaped, and in parts if it is a URL.

    What reads a URL with a password that was not escaped may take a part of it for the host.
    """
    yield value
    yield quote(value, safe="")
    if "://" in value:
        password = value.partition("://")[2].rpartition("@")[0].partition(":")[2]
        yield password
        for part in re.split(r"[/?#@:\[\]]", password):
            yield part
            yield unquote(part)
