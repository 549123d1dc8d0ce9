"""Log lines as a web service writes them: JSON, full of repetition, the same for every reader."""

from __future__ import annotations

import json
from random import Random

LEVELS = ("INFO", "INFO", "INFO", "INFO", "INFO", "INFO", "DEBUG", "DEBUG", "WARN", "ERROR")
PATHS = (
    "/api/v1/cart",
    "/api/v1/cart/items",
    "/api/v1/checkout",
    "/api/v1/login",
    "/api/v1/products",
    "/api/v1/products/search",
    "/api/v1/recommendations",
    "/api/v1/users/profile",
    "/health",
)
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 Version/17.5 Safari/605.1",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148",
    "okhttp/4.12.0",
    "python-requests/2.32.3",
    "kube-probe/1.29",
)
MESSAGES = {
    "DEBUG": ("cache lookup", "query planned in {} us", "token refreshed for session {}"),
    "INFO": ("request served", "order {} accepted", "page rendered from template {}"),
    "WARN": ("slow query: {} rows scanned", "retry {} of 5 after timeout", "queue length {}"),
    "ERROR": ("upstream closed the connection after {} bytes", "payment {} refused"),
}
SERVICES = tuple(f"{part}-{n}" for part in ("web", "cart", "search", "billing") for n in range(4))
USERS = 3000
SESSION = 24  # recent requests that a new one may belong to
RATE = 2000.0  # records a second


def records(count: int, *, seed: int, window: int) -> list[tuple[float, bytes]]:
    """The records of a window: when each arrives, in seconds since the first window, and its line.

    They come in bursts. Users, traces and paths come back within a session, so that a line is
    most like those shortly before it. How bursty the traffic is and how many sessions are new
    differs from window to window. A window lasts count / RATE seconds exactly.
    """
    rng = Random(f"{seed} {window}")
    bursty, fresh = rng.uniform(0.6, 0.95), rng.uniform(0.3, 0.9)
    times = [0.0]
    for _ in range(count):
        times.append(times[-1] + rng.expovariate(11.0 if rng.random() < bursty else 1.0))
    span = count / RATE
    arrivals = [span * (window + time / times[-1]) for time in times[:-1]]
    recent = [(rng.randrange(USERS), _trace(rng)) for _ in range(SESSION)]
    return [(at, _line(at, rng, recent, fresh)) for at in arrivals]


def _line(at: float, rng: Random, recent: list[tuple[int, str]], fresh: float) -> bytes:
    place = rng.randrange(SESSION)
    if rng.random() < fresh:
        recent[place] = (rng.randrange(USERS), _trace(rng))
    user, trace = recent[place]
    level = rng.choice(LEVELS)
    line = {
        "time": f"2026-03-04T12:{int(at // 60) % 60:02d}:{at % 60:09.6f}Z",
        "level": level,
        "service": SERVICES[user % len(SERVICES)],
        "trace": trace,
        "user": f"u{user:05d}",
        "method": "GET" if rng.random() < 0.8 else "POST",
        "path": PATHS[min(int(rng.expovariate(0.5)), len(PATHS) - 1)],
        "status": 200 if level in ("INFO", "DEBUG") else rng.choice((404, 429, 500, 503)),
        "ms": round(rng.lognormvariate(3.0, 0.8), 3),
        "agent": AGENTS[user % len(AGENTS)],
        "message": rng.choice(MESSAGES[level]).format(rng.randrange(10_000)),
    }
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def _trace(rng: Random) -> str:
    return f"{rng.getrandbits(128):032x}"
