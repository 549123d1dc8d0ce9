"""Webhooks: every notice reaches its receivers, in order, signed, and the journal knows.

The notices in the journal are the queue. A delivery that was acknowledged is an event, too. So
nothing is lost when a process ends. At most one notice, that on its way just then, is sent twice
(with the same `X-Trimtab-Delivery`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import httpx

from trimtab.live.clock import stamp
from trimtab.live.spec.connect.connection import Webhook
from trimtab.live.spec.connect.environment import expanded
from trimtab.live.spec.spec import Spec
from trimtab.live.store.event import Draft, Event
from trimtab.live.store.faults import Unavailable
from trimtab.live.store.journal import Journal
from trimtab.run.backoff import Backoff
from trimtab.run.faults import OutsideFault
from trimtab.run.log import Log
from trimtab.run.notify.notices import KIND
from trimtab.run.placing import ACTOR
from trimtab.run.signing import body_of, signed_headers
from trimtab.run.sources.opening import headers_of, seconds
from trimtab.run.web import Web

DELIVERED = "delivered"  # kind of the events
OLDEST = timedelta(days=1)  # of a notice that is still worth sending
REFUSALS = (
    3  # of the same notice by a receiver that says it is wrong, after which it is passed over
)
POLL = 1.0  # second between two checks for new notices


@dataclass
class Receiver:
    """A webhook, what it has yet to get, and how it fares."""

    name: str  # as the spec has it: without secrets
    url: str
    secret: str | None
    events: tuple[str, ...]
    web: Web
    queue: deque[Event] = field(default_factory=deque)
    backoff: Backoff = field(default_factory=Backoff)
    after: datetime | None = None  # not before this time


class Webhooks:
    """Delivers the notices of one tuner.

    Args:
        spec: with the webhooks.
        journal: of the tuner.
        clock: the time.
        log: what happens.
        environment: where secrets are.
        transport: how requests travel, for tests.

    Raises:
        InvalidInput: an environment variable is not set.
    """

    def __init__(
        self,
        spec: Spec,
        journal: Journal,
        *,
        clock: Callable[[], datetime],
        log: Log,
        environment: Mapping[str, str] = os.environ,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._tuner, self._journal, self._clock, self._log = spec.name, journal, clock, log
        self._read: int | Event = 0
        self._receivers = [
            _receiver(hook, f"webhook[{i}]", environment, transport)
            for i, hook in enumerate(spec.webhooks)
        ]

    @property
    def waiting(self) -> int:
        """Notices that some receiver has not taken yet."""
        return sum(len(receiver.queue) for receiver in self._receivers)

    def step(self) -> float:
        """Send what can be sent now; seconds until the next check."""
        try:
            self._follow()
            for receiver in self._receivers:
                while receiver.queue and self._send(receiver, receiver.queue[0]):
                    pass
        except (
            Unavailable
        ) as error:  # the same again is safe: who got a notice drops its repetition
            self._log.warn("webhook-fault", code="store", text=str(error))
        return POLL

    def _follow(self) -> None:
        """Put what is new into the queues, and take out what was delivered."""
        for event in self._journal.events(self._tuner, after=self._read):
            if event.kind == KIND:
                about = event.payload["event"]
                for receiver in self._receivers:
                    if about in receiver.events and self._clock() - event.at < OLDEST:
                        receiver.queue.append(event)
            elif event.kind == DELIVERED:
                number, name = event.payload["notice"], event.payload["webhook"]
                for receiver in self._receivers:
                    if receiver.name == name:
                        kept = (each for each in receiver.queue if each.number > number)
                        receiver.queue = deque(kept)
            self._read = event

    def _send(self, receiver: Receiver, event: Event) -> bool:
        """Send one notice; whether the next one may follow."""
        now = self._clock()
        if receiver.after is not None and now < receiver.after:
            return False
        id, payload = f"{self._tuner}-{event.number}", event.payload
        body = body_of(
            {
                "id": id,
                "tuner": self._tuner,
                "event": payload["event"],
                "text": payload["text"],
                "at": event.at.isoformat(),
                "values": payload["values"],
            }
        )
        headers = signed_headers(
            body, delivery=id, secret=receiver.secret, seconds=int(now.timestamp())
        )
        try:
            receiver.web.request("POST", receiver.url, content=body, headers=headers)
        except OutsideFault as fault:
            wait = receiver.backoff.failed()
            receiver.after = now + timedelta(seconds=wait)
            self._log.warn(
                "webhook-fault", notice=id, code=fault.code, text=str(fault), retry_in=wait
            )
            refused = fault.permanent and receiver.backoff.failures >= REFUSALS
            if not refused and now - event.at < OLDEST:
                return False
            self._record(receiver, event, "given up", "webhook-given-up")
            return True
        self._record(receiver, event, "taken", "webhook-taken")
        return True

    def _record(self, receiver: Receiver, event: Event, outcome: str, line: str) -> None:
        attempts = receiver.backoff.failures + (outcome == "taken")
        payload: dict[str, Any] = {
            "notice": event.number,
            "webhook": receiver.name,
            "outcome": outcome,
            "attempts": attempts,
            "why": f"notice {event.number}: {outcome} by {receiver.name}, attempt {attempts}",
            "actor": ACTOR,
        }
        draft = Draft(kind=DELIVERED, payload=payload, at=stamp(self._clock, self._journal))
        self._journal.append(self._tuner, draft)
        receiver.queue.popleft()
        receiver.backoff.worked()
        receiver.after = None
        self._log.info(line, notice=f"{self._tuner}-{event.number}", attempts=attempts)

    def close(self) -> None:
        """End the connections."""
        for receiver in self._receivers:
            receiver.web.close()


def _receiver(
    hook: Webhook,
    where: str,
    environment: Mapping[str, str],
    transport: httpx.BaseTransport | None,
) -> Receiver:
    secret = None if hook.secret is None else expanded(hook.secret, f"{where}.secret", environment)
    return Receiver(
        name=hook.url,
        url=expanded(hook.url, f"{where}.url", environment),
        secret=secret,
        events=hook.events,
        web=Web(
            OutsideFault,
            headers=headers_of(hook.headers, where, environment),
            timeout=seconds(hook.timeout, 10.0),
            transport=transport,
        ),
    )
