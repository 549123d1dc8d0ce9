"""What an operator may set of the service, in one place."""

from __future__ import annotations

from dataclasses import dataclass

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The service's limits and names; every replica of a store should have the same.

    Args:
        storage: where the journal is: a path, sqlite:///path or postgresql://...
        hosts: the names by which people and programs reach it; others are refused.
        secure: whether it is reached by https only, by its own certificate or behind a proxy.
        connections: to the store, which all tuners share.
        open_tuners: how many are kept in memory; the one used longest ago goes first.
        most_tuners: how many there may be in the store before new ones are refused.
        most_tokens: how many tokens may be valid at the same time.
        body: bytes of a request.
        rate: requests a second of one token, on average.
        burst: requests of one token at once.
        stranger_rate: requests a second of one address without a valid token, on average.
        stranger_burst: the same, at once.
        workers: threads that run loops of the fleet; 0 leaves that to other replicas.
        most_loops: how many tuners of the store may be run by workers.
        local: whether loops may run programs and read files on this machine.
        streams: connections that listen for events, of this replica.
        poll: seconds between two checks for events that other replicas have written.
        session: seconds until somebody must log in to the page again.
        answers: seconds for which an answer is kept under its idempotency key.
        drain: seconds between "not ready" and the end, for load balancers to notice.
    """

    storage: str
    hosts: tuple[str, ...] = LOOPBACK
    secure: bool = False
    connections: int = 4
    open_tuners: int = 256
    most_tuners: int = 10_000
    most_tokens: int = 1_000
    body: int = 1_000_000
    rate: float = 200.0
    burst: int = 400
    stranger_rate: float = 5.0
    stranger_burst: int = 20
    workers: int = 0
    most_loops: int = 2_000
    local: bool = False
    streams: int = 200
    poll: float = 0.5
    session: float = 12 * 3600.0
    answers: float = 24 * 3600.0
    drain: float = 0.0
