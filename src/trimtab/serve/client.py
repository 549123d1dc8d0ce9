"""`Client`: a tuner behind a service, with the verbs of `Tuner`."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from urllib.parse import quote

import httpx

from trimtab.errors import Conflict, InvalidInput, NotFound, SolverFailed, TrimtabError
from trimtab.live.explain import Explanation
from trimtab.live.helping import Helping
from trimtab.live.history import HistoryRow
from trimtab.live.state.decision import Decision
from trimtab.live.state.telling import Receipt
from trimtab.live.status import Status
from trimtab.live.store.faults import Damaged, Unavailable

TRIES = 5  # of a request that got no answer
PAUSE = 0.1  # seconds before the second try; each later pause is twice as long
LONGEST_PAUSE = 5.0
AGAIN = (429, 502, 503, 504)
ERRORS: dict[str, type[TrimtabError]] = {
    "invalid-input": InvalidInput,
    "not-found": NotFound,
    "conflict": Conflict,
    "solver-failed": SolverFailed,
    "damaged": Damaged,
    "unavailable": Unavailable,
    "too-many-requests": Unavailable,
}

T = TypeVar("T")


class Forbidden(TrimtabError):
    """The token is not valid, or its role does not allow this."""


class Client:
    """A tuner that a service runs: `ask`, `tell` and the other verbs of `Tuner`, over HTTP.

    A request that gets no answer is sent again: every verb may be, and has one effect. Errors are
    those that `Tuner` raises, with the same words.

    Args:
        url: of the service, such as "http://127.0.0.1:8321".
        tuner: the tuner's name.
        token: given by an admin of the service.
        timeout: seconds for one answer.
        tries: how often a request is sent until `Unavailable` is raised.
        transport: another way to reach the service, for tests.
    """

    def __init__(
        self,
        url: str,
        *,
        tuner: str,
        token: str,
        timeout: float = 30.0,
        tries: int = TRIES,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.name = tuner
        self._tries = tries
        self._at = f"/api/v1/tuners/{quote(tuner, safe='')}"
        headers = {"authorization": f"Bearer {token}"}
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=timeout, transport=transport
        )

    # The two verbs.

    def ask(self, client_id: str | None = None) -> Decision:
        """The values to play; the same decision again until it is told."""
        body = {} if client_id is None else {"client_id": client_id}
        return _decision(self._post("ask", body))

    def tell(
        self,
        decision_id: str,
        metrics: Mapping[str, Any],
        *,
        count: int | Mapping[str, int] = 1,
        correct: bool = False,
        arm: Literal["control"] | None = None,
    ) -> Receipt:
        """Record what a decision led to; see `Tuner.tell`."""
        told = {name: _plain(value) for name, value in metrics.items()}
        body = {"decision_id": decision_id, "metrics": told, "count": count, "correct": correct}
        body |= {} if arm is None else {"arm": arm}
        plain = self._post("tell", body)
        return Receipt(id=plain["id"], events=tuple(plain["events"]))

    # People.

    def attach(self, values: Mapping[str, float], *, why: str | None = None) -> Status:
        """Accept that somebody has set the system by hand; knobs that are not named stay."""
        return self._ordered("attach", {"values": dict(values), "why": why})

    def override(self, values: Mapping[str, float], *, why: str | None = None) -> Status:
        """Have the next decisions go to these values, and stay there until `resume`."""
        return self._ordered("override", {"values": dict(values), "why": why})

    def pause(self, why: str = "by hand") -> Status:
        """Leave the knobs alone until `resume`."""
        return self._ordered("pause", {"why": why})

    def resume(self, *, why: str | None = None) -> Status:
        """Tune again from where the system is now."""
        return self._ordered("resume", {"why": why})

    def rollback(self, *, best: bool = False, why: str | None = None) -> Status:
        """Go back to the last good state other than this one, or to the best; and pause there."""
        return self._ordered("rollback", {"best": best, "why": why})

    def approve(self, decision_id: str, *, why: str | None = None) -> Status:
        """Carry out what a decision has proposed."""
        return self._ordered("approve", {"decision_id": decision_id, "why": why})

    def reject(self, decision_id: str, *, why: str | None = None) -> Status:
        """Leave what a decision has proposed undone."""
        return self._ordered("reject", {"decision_id": decision_id, "why": why})

    # History.

    def warm_start(self, table: Mapping[str, Iterable[Any]]) -> int:
        """Learn from a table of the past, a dict of columns; of how many observations."""
        columns = {name: list(column) for name, column in table.items()}
        return int(self._post("warm-start", {"table": columns})["observations"])

    def status(self) -> Status:
        """Where the tuner stands."""
        return _status(self._send("GET", self._at))

    def explain(self, decision_id: str) -> Explanation:
        """Why a decision was made, and what became of it; "last" is the newest one."""
        plain = self._send("GET", f"{self._at}/decisions/{quote(decision_id, safe='')}")
        told = {name: _measured(x) for name, x in plain["told"].items()}
        helping = plain.get("helping")
        return Explanation(
            decision=_decision(plain["decision"]),
            look=plain["look"],
            told=told,
            text=plain["text"],
            helping=None if helping is None else Helping(**helping),
        )

    def history(
        self,
        *,
        after: int = 0,
        limit: int | None = None,
        newest: bool = False,
        kinds: Iterable[str] | None = None,
    ) -> list[HistoryRow]:
        """What has happened, an event a row; see `Tuner.history`."""
        rows = self._rows(after, limit, newest, None if kinds is None else list(kinds))
        return list(rows)

    def _rows(
        self, after: int, limit: int | None, newest: bool, kinds: list[str] | None
    ) -> Iterator[HistoryRow]:
        if newest and (limit is None or limit > 500):
            raise InvalidInput(f"limit = {limit}; of the newest rows at most 500 come at once")
        left = limit
        while left is None or left > 0:
            page = {"after": after, "limit": 500 if left is None else min(left, 500)}
            query: dict[str, Any] = page | {"newest": newest} | ({"kinds": kinds} if kinds else {})
            plain = self._send("GET", f"{self._at}/history", params=query)
            yield from map(_row, plain["rows"])
            left = None if left is None else left - len(plain["rows"])
            if plain["next"] is None:
                return
            after = plain["next"]

    # How every call goes.

    def _post(self, verb: str, body: Mapping[str, Any]) -> Any:
        return self._send("POST", f"{self._at}/{verb}", json=body)

    def _ordered(self, verb: str, body: Mapping[str, Any]) -> Status:
        key = {"idempotency-key": secrets.token_hex(16)}
        return _status(self._send("POST", f"{self._at}/{verb}", json=body, headers=key))

    def _send(self, method: str, path: str, **options: Any) -> Any:
        """The plain content of the answer, after as many tries as it takes.

        Raises:
            Unavailable: there was no answer; nobody knows, and the same call again is safe.
            Forbidden: no valid token, or no right.
        """
        pause = PAUSE
        for left in reversed(range(self._tries)):
            try:
                answer = self._http.request(method, path, **options)
            except httpx.HTTPError as error:
                if not left:
                    said = str(error) or type(error).__name__
                    raise Unavailable(f"the service gives no answer: {said}; call again") from None
            else:
                if answer.status_code not in AGAIN or not left:
                    return _content(answer)
                pause = max(pause, _seconds(answer.headers.get("retry-after", "0")))
            time.sleep(min(pause, LONGEST_PAUSE))
            pause *= 2
        raise Unavailable("the request was never sent; give tries of 1 or more")

    def close(self) -> None:
        """End the connection to the service."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _content(answer: httpx.Response) -> Any:
    try:
        content = answer.json()
    except ValueError:
        content = None
    if answer.is_success and content is not None:
        return content
    plain = content if isinstance(content, dict) else {}
    kind = str(plain.get("type", "")).rpartition(":")[2]
    detail = str(plain.get("detail", f"the service answered {answer.status_code}"))
    if answer.status_code in (401, 403):
        raise Forbidden(detail)
    raise ERRORS.get(kind, Unavailable)(detail)


def _seconds(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() else 0.0


def _plain(value: Any) -> Any:
    """A measurement as JSON has it: NaN is null, a pair is a list."""
    if isinstance(value, tuple | list):
        return [_plain(x) for x in value]
    if value is None:
        return None
    number = value if isinstance(value, int) and not isinstance(value, bool) else float(value)
    return None if number != number else number


def _of(kind: type[T], plain: Mapping[str, Any], **changed: Any) -> T:
    """The dataclass of plain data; what an older service does not say is left at its default."""
    given = {**plain, **changed}
    known = {each.name: given[each.name] for each in fields(kind) if each.name in given}  # type: ignore[arg-type]
    missing = [
        each.name
        for each in fields(kind)  # type: ignore[arg-type]
        if each.name not in known and each.default is MISSING and each.default_factory is MISSING
    ]
    if missing:
        raise Unavailable(f"the service is of another version: it does not say {missing[0]!r}")
    return kind(**known)


def _decision(plain: Mapping[str, Any]) -> Decision:
    at = datetime.fromisoformat(plain["at"])
    return _of(Decision, plain, at=at, notes=tuple(plain["notes"]))


def _status(plain: Mapping[str, Any]) -> Status:
    return Status.from_dict(plain)


def _row(plain: Mapping[str, Any]) -> HistoryRow:
    return _of(
        HistoryRow,
        plain,
        at=datetime.fromisoformat(plain["at"]),
        changed=tuple(plain["changed"]),
        notes=tuple(plain["notes"]),
        told={name: _measured(x) for name, x in plain["told"].items()},
    )


def _measured(plain: Mapping[str, Any] | None) -> Any:
    return None if plain is None else (plain["mean"], plain["sem"], plain["count"])
