"""A fleet under fire: many tuners, several replicas, many clients, and things that are killed.

Replicas are `trimtab serve` processes over one PostgreSQL server; clients are `tt.Client`s, which
ask and tell tuners at random and note what was acknowledged. Meanwhile replicas are killed
(SIGKILL) and the server is restarted as after a crash (pg_ctl -m immediate). In the end the journal
is compared with the notes: no acknowledged call lost, none doubled, no two decisions for one round.
pgbench inserts one row per transaction with as many clients, on the same server before and after.

    python benchmarks/fleet.py [--tuners 1000] [--replicas 3] [--clients 32] [--seconds 300]
                               [--kill-every 10] [--restart-every 60]
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from shutil import rmtree
from typing import Any

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.postgres import Server
from trimtab.live import Spec
from trimtab.live.store.faults import Unavailable
from trimtab.live.store.opening import open_journal
from trimtab.live.tuner import Tuner
from trimtab.serve.access.tokens import Tokens
from trimtab.serve.client import Client
from trimtab.serve.server import listening
from trimtab.serve.tables import Tables

SPEC = """
name = "{name}"
[knobs.ttl]
low = 30
high = 3000
start = 300
scale = "log"
[knobs.mix]
low = 0.0
high = 1.0
start = 0.5
[objectives.latency]
knobs = ["ttl", "mix"]
low = 50
high = 250
[objectives.misses]
knobs = ["ttl"]
low = 0.0
high = 0.5
"""
INSERT = (
    "INSERT INTO pgbench_rows (digest, payload) VALUES (md5(random()::text), repeat('x', 250));"
)
FORK = get_context("fork")
AT_ONCE = 4  # clients of one process
GRACE = 60.0  # seconds for a tell that got no answer
TRIMTAB = Path(sys.executable).with_name("trimtab")


@dataclass
class Notes:
    """What a client saw."""

    asked: list[tuple[str, str, int]] = field(default_factory=list)  # tuner, decision, round
    told: list[tuple[str, str, float]] = field(default_factory=list)  # tuner, decision, latency
    ask_seconds: list[float] = field(default_factory=list)
    tell_seconds: list[float] = field(default_factory=list)
    unavailable: int = 0


class Replica:
    """A replica as a program, started again when it was killed."""

    def __init__(self, url: str, folder: Path, number: int) -> None:
        with listening("127.0.0.1", 0) as socket:
            self.port = socket.getsockname()[1]
        self._command = [
            str(TRIMTAB), "serve", "--storage", url, "--port", str(self.port),
            "--open-tuners", "500", "--connections", "6",
        ]  # fmt: skip
        self._log = folder / f"replica-{number}.log"
        self.starts = 0
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, without waiting."""
        self.starts += 1
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def cpu(self) -> float:
        """The CPU seconds of the process that runs now."""
        if self.process is None:
            return 0.0
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self, how: int = signal.SIGKILL) -> None:
        """End it."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()

    def wait(self, seconds: float = 120.0) -> None:
        """Wait until it is ready."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
        raise SystemExit(f"a replica is not ready: {self._log.read_text()[-2000:]}")


class Course:
    """How far the campaign is; all processes share it."""

    def __init__(self) -> None:
        self._end, self._told = FORK.Value("d", math.inf), FORK.Value("q", 0)

    def over(self, grace: float = 0.0) -> bool:
        """Whether it is over, and these seconds too."""
        return time.monotonic() > self._end.value + grace

    def finish(self) -> None:
        """It is over."""
        self._end.value = time.monotonic()

    def acknowledged(self) -> None:
        """One more tell is."""
        with self._told.get_lock():
            self._told.value += 1

    @property
    def told(self) -> int:
        """How many tells were acknowledged."""
        return int(self._told.value)


def client(
    number: int, urls: list[str], token: str, tuners: int, course: Course, notes: Notes
) -> None:
    """Ask and tell until the end, through whichever replica answers."""
    rng, at = random.Random(number), number
    numbers = np.random.default_rng(number)
    while not course.over():
        name = f"t{rng.randrange(tuners)}"
        while not course.over():
            at += 1
            try:
                with_client(urls[at % len(urls)], name, token, number, numbers, notes, course)
                break
            except Unavailable:
                notes.unavailable += 1
                time.sleep(0.05)


def process(
    numbers: list[int], urls: list[str], token: str, tuners: int, course: Course, answer: Connection
) -> None:
    """Several clients in a process of their own, as programs are; it sends what they saw."""
    notes = [Notes() for _ in numbers]
    threads = [
        threading.Thread(target=client, args=(n, urls, token, tuners, course, seen))
        for n, seen in zip(numbers, notes, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answer.send(notes)
    answer.close()


POOL: dict[tuple[int, str], httpx.HTTPTransport] = {}


def with_client(
    url: str,
    name: str,
    token: str,
    number: int,
    rng: np.random.Generator,
    notes: Notes,
    course: Course,
) -> None:
    """One round of one tuner."""
    if (number, url) not in POOL:
        POOL[number, url] = Kept(verify=False)  # no TLS here: the certificates take 16 ms to read
    transport = POOL[number, url]
    tuner = Client(url, tuner=name, token=token, tries=1, timeout=60.0, transport=transport)
    begin = time.perf_counter()
    decision = tuner.ask(f"c{number}")
    notes.ask_seconds.append(time.perf_counter() - begin)
    notes.asked.append((name, decision.id, decision.round))
    ttl, mix = decision.values["ttl"], decision.values["mix"]
    u = np.log(ttl / 30.0) / np.log(100.0)
    latency = float(80 + 90 * (u - 0.7) ** 2 + 40 * mix**2 + rng.normal())
    metrics = {"latency": latency, "misses": float(0.3 - 0.2 * u + 0.01 * rng.normal())}
    while True:  # the same tell, until it is acknowledged: nobody knows whether it was taken
        begin = time.perf_counter()
        try:
            tuner.tell(decision.id, metrics)
        except Unavailable:
            notes.unavailable += 1
            if course.over(GRACE):
                return
            time.sleep(0.05)
            continue
        notes.tell_seconds.append(time.perf_counter() - begin)
        notes.told.append((name, decision.id, latency))
        course.acknowledged()
        return


class Kept(httpx.HTTPTransport):
    """A transport that stays open when a client is closed."""

    def close(self) -> None:
        """Nothing: it is used again."""


def pgbench(server: Server, clients: int, seconds: int) -> tuple[float, float]:
    """Transactions a second, and the median milliseconds, of one-row inserts."""
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS pgbench_rows "
            "(id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, digest text, payload text)"
        )
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(INSERT)
        script.flush()
        os.chmod(script.name, 0o644)
        program = next(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))
        said = subprocess.run(
            [program, "-n", "-h", server.folder, "-U", "postgres", "-c", str(clients), "-j", "2",
             "-T", str(seconds), "-f", script.name, "postgres"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    rate = float(re.findall(r"tps = ([\d.]+)", said)[0])
    latency = float(re.findall(r"latency average = ([\d.]+) ms", said)[0])
    return rate, latency


def trouble(
    server: Server, replicas: list[Replica], course: Course, options: argparse.Namespace
) -> Counter[str]:
    """Kill replicas and restart the server, for as long as is asked for and until enough is told.

    In the last three seconds nothing is killed.
    """
    rng, done = random.Random(7), Counter[str]()
    kill_every, restart_every = options.kill_every, options.restart_every
    kill = time.monotonic() + kill_every / 2
    restart = time.monotonic() + restart_every
    end = time.monotonic() + options.seconds - 3.0
    while time.monotonic() < end or course.told < options.least:
        time.sleep(0.1)
        if time.monotonic() > kill:
            replica = rng.choice(replicas)
            replica.kill()
            replica.start()
            done["replicas killed"] += 1
            kill = time.monotonic() + kill_every * rng.uniform(0.5, 1.5)
        if time.monotonic() > restart:
            server.stop("immediate")
            server.start()
            done["server restarts"] += 1
            restart = time.monotonic() + restart_every * rng.uniform(0.5, 1.5)
    time.sleep(3.0)
    course.finish()
    return done


def verdict(url: str, tuners: int, notes: list[Notes]) -> dict[str, int]:
    """The journal beside what was acknowledged."""
    told: dict[tuple[str, str], float] = {}
    for each in notes:
        told |= {(name, id): latency for name, id, latency in each.told}
    asked = {(name, id) for each in notes for name, id, _ in each.asked}
    found = Counter[str]()
    with open_journal(url, read_only=True) as journal:
        for n in range(tuners):
            name = f"t{n}"
            decided, rounds, measured = set(), Counter[int](), dict[str, list[float]]()
            for event in journal.events(name):
                found["events"] += 1
                payload = event.payload
                if event.kind == "decide":
                    decided.add(f"{name}-{event.number}")
                    rounds[payload["round"]] += 1
                elif event.kind == "tell" and "latency" in payload["metrics"]:
                    value = payload["metrics"]["latency"][0]
                    measured.setdefault(f"{name}-{payload['decision']}", []).append(value)
            found["rounds decided twice"] += sum(n - 1 for n in rounds.values())
            found["decisions lost"] += len({id for t, id in asked if t == name} - decided)
            for (t, id), latency in told.items():
                if t == name:
                    values = measured.get(id, [])
                    found["tells lost"] += latency not in values
                    found["tells doubled"] += max(len(values) - 1, 0)
    found["tells acknowledged"], found["asks acknowledged"] = len(told), len(asked)
    return dict(found)


def begin(url: str, tuners: int) -> float:
    """Begin the tuners; the seconds each took."""
    start = time.perf_counter()
    with open_journal(url) as journal:
        for n in range(tuners):
            with Tuner(Spec.parse(SPEC.format(name=f"t{n}")), storage=journal, actor="benchmark"):
                pass
    return (time.perf_counter() - start) / tuners


def run(options: Any) -> dict[str, Any]:
    """The whole campaign, and its figures."""
    server = Server()
    folder = Path(tempfile.mkdtemp(prefix="trimtab-fleet-"))
    replicas: list[Replica] = []
    figures: dict[str, Any] = {}
    try:
        server.start()
        url = server.fresh_url()
        tables = Tables(url)
        token, _ = Tokens(tables).add("benchmark", "client", by="benchmark")
        tables.close()
        figures["ms to begin a tuner"] = 1000 * begin(url, options.tuners)
        figures["pgbench before"] = pgbench(server, options.clients, options.pgbench)
        replicas += [Replica(url, folder, n) for n in range(options.replicas)]
        for replica in replicas:
            replica.start()
        for replica in replicas:
            replica.wait()
        course = Course()
        urls = [replica.url for replica in replicas]
        began = time.monotonic()
        pipes = []
        for first in range(0, options.clients, AT_ONCE):
            numbers = list(range(first, min(first + AT_ONCE, options.clients)))
            receive, send = FORK.Pipe(duplex=False)
            FORK.Process(
                target=process, args=(numbers, urls, token, options.tuners, course, send)
            ).start()
            send.close()
            pipes.append(receive)
        done = trouble(server, replicas, course, options)
        notes: list[Notes] = [seen for pipe in pipes for seen in pipe.recv()]
        elapsed = time.monotonic() - began
        cpu = sum(replica.cpu() for replica in replicas)
        for replica in replicas:
            replica.kill(signal.SIGTERM)
        figures["pgbench after"] = pgbench(server, options.clients, options.pgbench)
        asks = [x for each in notes for x in each.ask_seconds]
        tells = [x for each in notes for x in each.tell_seconds]
        figures |= {
            "calls a second": (len(asks) + len(tells)) / elapsed,
            "ask ms (p50, p99)": tuple(1000 * np.quantile(asks, [0.5, 0.99])),
            "tell ms (p50, p99)": tuple(1000 * np.quantile(tells, [0.5, 0.99])),
            "cores the replicas had": cpu / elapsed,
            "calls without an answer": sum(each.unavailable for each in notes),
            **done,
            **verdict(url, options.tuners, notes),
        }
    finally:
        for replica in replicas:
            if replica.process is not None and replica.process.poll() is None:
                replica.kill()
        server.remove()
        rmtree(folder)
    return figures


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    for name, default in (
        ("tuners", 1000), ("replicas", 3), ("clients", 32), ("seconds", 300), ("kill-every", 10),
        ("restart-every", 60), ("pgbench", 10), ("least", 0),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args(arguments)


def main() -> None:
    """Print the figures; exit 1 if anything was lost, doubled or decided twice."""
    options = parsed()
    figures = run(options)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {vars(options)}")
    for name, value in figures.items():
        shown = (
            ", ".join(f"{x:,.1f}" for x in value) if isinstance(value, tuple) else f"{value:,.6g}"
        )
        print(f"{name:<28}{shown}")
    wrong = ("tells lost", "tells doubled", "decisions lost", "rounds decided twice")
    if any(figures.get(name) for name in wrong):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
