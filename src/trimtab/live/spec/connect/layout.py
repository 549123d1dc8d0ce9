"""The layout of `[source]`, `[target]` and `[[webhook]]`: every key, and what it may hold."""

from __future__ import annotations

from trimtab.live.spec import duration
from trimtab.plain.shapes import Choice, Text, Whole
from trimtab.plain.tables import Field, Items, Named, Switch, Table

LINE = r"[^\x00-\x1f\x7f\ud800-\udfff]"  # a character of one line
TEXT = r"[^\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]"  # the same, or a line break
EVENTS = ("alarm", "breach", "rollback", "pause", "stuck", "proposal")
AGGREGATES = ("mean", "min", "max", "sum", "last")
SIGNALS = ("HUP", "USR1", "USR2", "INT", "TERM")

NAME = Text(r"[A-Za-z_][A-Za-z0-9_]{0,63}", "use letters, digits and _, no digit first")
TIME = Text(duration.PATTERN, 'give a time such as "30s", "5m" or "1h"')
WEB = Text(
    rf"(https?://|\$\{{){LINE}{{1,1000}}",
    'give a URL such as "http://localhost:9090", or "${NAME}" for an environment variable',
)
SECRET = Text(
    r"\$\{[A-Za-z_][A-Za-z0-9_]*\}",
    'write "${NAME}", and put the secret into the environment variable NAME',
)
WORDS = Items(
    Text(TEXT + "{0,5000}", "give a string"), least=1
)  # a program and its arguments; no shell
SENTENCE = Text(TEXT + "{1,5000}", "give a query in quotes")
PATH = Text(LINE + "{1,1000}", "give a path in quotes")
HEADERS = Named(
    Text(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", "use the name of an HTTP header"),
    Text(LINE + "{0,2000}", "give a string"),
)
ATTEMPTS = Whole(low=1, high=100)

_WHEN = {
    "window": Field(TIME, "over which stretch of time metrics are measured; 1m by default"),
    "delay": Field(TIME, "how long after a window its metrics are complete; at once by default"),
    "patience": Field(
        TIME, "for how long metrics may be late before a new window begins; a window by default"
    ),
    "max_age": Field(
        TIME, "how old the newest sample may be at the end of a window; a window by default"
    ),
    "timeout": Field(TIME, "of one request; 10s by default"),
}
_HEADERS = {"headers": Field(HEADERS, "sent along, by name; secrets as ${NAME}")}

SOURCE = Switch(
    "kind",
    "where metrics come from: prometheus, http, command or sql",
    {
        "prometheus": Table(
            {
                "url": Field(WEB, "of the server", required=True),
                "metrics": Field(
                    Named(NAME, SENTENCE, least=1),
                    "PromQL by metric; $window stands for the length of the window",
                    required=True,
                ),
                "aggregate": Field(
                    Named(NAME, Choice(AGGREGATES)),
                    "how samples in the window become one number, by metric: mean for a plain "
                    "selector; an expression is evaluated once, at the end, unless given here",
                ),
                "step": Field(TIME, "between samples of an aggregated expression; 15s by default"),
                "heartbeat": Field(
                    SENTENCE, "a selector whose newest sample must not be older than max_age"
                ),
            }
            | _HEADERS
            | _WHEN
        ),
        "http": Table(
            {
                "url": Field(
                    WEB,
                    "answers with JSON; {begin}, {end} (seconds since 1970) and {decision} are "
                    "filled in",
                    required=True,
                ),
                "metrics": Field(
                    Named(NAME, PATH),
                    "the place of each metric in the answer, as in data.0.p99; its name by default",
                ),
                "time": Field(PATH, "the place of the time of measurement: seconds or ISO 8601"),
            }
            | _HEADERS
            | _WHEN
        ),
        "command": Table(
            {
                "command": Field(
                    WORDS, "a program and its arguments; it prints JSON", required=True
                ),
                "metrics": Field(Named(NAME, PATH), "the place of each metric, as for http"),
                "time": Field(PATH, "the place of the time of measurement"),
            }
            | _WHEN
        ),
        "sql": Table(
            {
                "url": Field(
                    Text(
                        rf"(sqlite:///|postgres(ql)?://|\$\{{){LINE}{{1,1000}}",
                        "give sqlite:///path, postgresql://..., or ${NAME}",
                    ),
                    "of the database",
                    required=True,
                ),
                "query": Field(
                    SENTENCE,
                    "gives one row, a column per metric; :begin and :end are the window in "
                    "seconds since 1970",
                    required=True,
                ),
                "time": Field(NAME, "the column of the newest time in it, in seconds since 1970"),
            }
            | _WHEN
        ),
    },
)

_PUSH = {
    "timeout": Field(TIME, "of one attempt; 10s by default"),
    "attempts": Field(ATTEMPTS, "after which the tuner stays where the system is; 4 by default"),
    "names": Field(Named(NAME, PATH), "what a knob is called there; its own name by default"),
}

TARGET = Switch(
    "kind",
    "where values go: command, http, file or redis",
    {
        "command": Table(
            {
                "command": Field(
                    WORDS,
                    "a program and its arguments; it gets the values as JSON on stdin",
                    required=True,
                ),
                "read": Field(WORDS, "a program that prints the values that hold now, as JSON"),
            }
            | _PUSH
        ),
        "http": Table(
            {
                "url": Field(WEB, "gets the values as JSON", required=True),
                "method": Field(Choice(("PUT", "POST", "PATCH")), "PUT by default"),
                "read_url": Field(WEB, "answers with the values that hold now, as JSON"),
                "secret": Field(SECRET, "the key of the signature, as ${NAME}"),
            }
            | _HEADERS
            | _PUSH
        ),
        "file": Table(
            {
                "path": Field(PATH, "the file, replaced as a whole", required=True),
                "format": Field(Choice(("json", "yaml", "env")), "json by default"),
                "signal": Field(Choice(SIGNALS), "sent to the process after a change"),
                "pid_file": Field(PATH, "holds the number of that process"),
            }
            | _PUSH
        ),
        "redis": Table(
            {
                "url": Field(
                    Text(
                        rf"(rediss?://|unix://|\$\{{){LINE}{{1,1000}}",
                        "give redis://host:6379/0, unix:///path or ${NAME}",
                    ),
                    "of the server",
                    required=True,
                ),
                "hash": Field(PATH, "one hash with a field per knob; else a key per knob"),
                "prefix": Field(PATH, "before the name of each knob, where there is no hash"),
            }
            | _PUSH
        ),
    },
)

WEBHOOK = Table(
    {
        "url": Field(WEB, "gets every notice as JSON, by POST", required=True),
        "secret": Field(SECRET, "the key of the signature, as ${NAME}"),
        "events": Field(
            Items(Choice(EVENTS), least=1, distinct=True), "which notices; all of them by default"
        ),
        "headers": Field(HEADERS, "sent along, by name; secrets as ${NAME}"),
        "timeout": Field(TIME, "of one attempt; 10s by default"),
    }
)
