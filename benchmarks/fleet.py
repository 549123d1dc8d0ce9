"""A fleet under fire: many tuners, several replicas, many clients, and things that are killed.

Replicas are `trimtab serve` processes over one PostgreSQL server; clients ask and tell tuners at
random over HTTP and note what was acknowledged. Meanwhile replicas are killed (SIGKILL) and the
server is restarted as after a crash (pg_ctl -m immediate). In the end the journal is compared with
the notes: no acknowledged call lost, none doubled, no two decisions for one round. pgbench inserts
one row per transaction with as many clients, on the same server before and after.

A client goes to the replica of the tuner's name, as a load balancer that hashes the path would send
it, and to the others when that one gives no answer; `--scatter 1` goes to any replica every time.
It speaks HTTP over a socket of its own, so that its share of the cores is as small as pgbench's.

    python benchmarks/fleet.py [--tuners 1000] [--replicas 3] [--clients 32] [--seconds 300]
                               [--kill-every 10] [--restart-every 60] [--scatter 0]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
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
AT_ONCE = 8  # clients of one process
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
            "--open-tuners", "1000", "--connections", "6", "--rate", "100000",
        ]  # fmt: skip
        self._log = folder / f"replica-{number}.log"
        self._ended = 0.0  # CPU seconds of the processes that were killed
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, without waiting."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def cpu(self) -> float:
        """The CPU seconds of all its processes so far."""
        return self._ended + (0.0 if self.process is None else seconds_of(self.process.pid))

    def kill(self, how: int = signal.SIGKILL) -> None:
        """End it."""
        if self.process is not None:
            self._ended += seconds_of(self.process.pid)
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

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


class Line:
    """A connection to a replica, opened when it is needed."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        token = f"Authorization: Bearer {token}"
        self._head = f"Host: localhost\r\n{token}\r\nContent-Type: application/json\r\n"
        self._socket: socket.socket | None = None

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer's content.

        Raises:
            Unavailable: there was none, or it says that it may come later.
        """
        text = json.dumps(body)
        request = f"POST {path} HTTP/1.1\r\n{self._head}Content-Length: {len(text)}\r\n\r\n{text}"
        try:
            status, content = self._exchanged(request.encode())
        except OSError as error:
            self.close()
            raise Unavailable(str(error)) from None
        if status == 503:
            raise Unavailable(content.decode())
        if status != 200:
            raise SystemExit(f"{path} {text}: {status} {content.decode()}")
        return json.loads(content)

    def _exchanged(self, request: bytes) -> tuple[int, bytes]:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=60.0)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(request)
        head, _, content = self._read(b"", lambda seen: b"\r\n\r\n" in seen).partition(b"\r\n\r\n")
        length = int(re.findall(rb"content-length: (\d+)", head.lower())[0])
        return int(head.split(b" ", 2)[1]), self._read(content, lambda seen: len(seen) >= length)

    def _read(self, seen: bytes, enough: Callable[[bytes], bool]) -> bytes:
        assert self._socket is not None
        while not enough(seen):
            more = self._socket.recv(65_536)
            if not more:
                raise ConnectionResetError("the replica has ended")
            seen += more
        return seen

    def close(self) -> None:
        """End it; the next request opens it again."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Course:
    """How far the campaign is; all processes share it."""

    def __init__(self) -> None:
        self._end, self._told = FORK.Value("d", math.inf), FORK.Value("q", 0)

    def over(self, grace: float = 0.0) -> bool:
        """Whether it is over, and these seconds too."""
        return bool(time.monotonic() > self._end.value + grace)

    def finish(self) -> None:
        """It is over."""
        self._end.value = time.monotonic()

    def acknowledged(self) -> None:
        """One more tell is acknowledged."""
        with self._told.get_lock():
            self._told.value += 1

    @property
    def told(self) -> int:
        """How many tells were acknowledged."""
        return int(self._told.value)


class Caller:
    """A client: rounds of tuners at random, and what it saw."""

    def __init__(self, number: int, ports: list[int], token: str, options: Any) -> None:
        self.notes = Notes()
        self._number, self._options = number, options
        self._lines = [Line(port, token) for port in ports]
        self._rng = random.Random(number)

    def call(self, course: Course) -> None:
        """Ask and tell until the end."""
        while not course.over():
            tuner = self._rng.randrange(self._options.tuners)
            at = f"/api/v1/tuners/t{tuner}"
            body: dict[str, Any] = {"client_id": f"c{self._number}"}
            decision = self._answered(tuner, f"{at}/ask", body, self.notes.ask_seconds, course.over)
            if decision is None:
                continue
            self.notes.asked.append((f"t{tuner}", decision["id"], decision["round"]))
            metrics = self._measured(decision["values"])
            body = {"decision_id": decision["id"], "metrics": metrics}
            late = partial(course.over, GRACE)  # nobody knows whether it was taken: the same again
            if self._answered(tuner, f"{at}/tell", body, self.notes.tell_seconds, late):
                self.notes.told.append((f"t{tuner}", decision["id"], metrics["latency"]))
                course.acknowledged()
        for line in self._lines:
            line.close()

    def _measured(self, values: dict[str, float]) -> dict[str, float]:
        u = math.log(values["ttl"] / 30.0) / math.log(100.0)
        latency = 80 + 90 * (u - 0.7) ** 2 + 40 * values["mix"] ** 2 + self._rng.gauss(0, 1)
        return {"latency": latency, "misses": 0.3 - 0.2 * u + self._rng.gauss(0, 0.01)}

    def _answered(
        self,
        tuner: int,
        path: str,
        body: dict[str, Any],
        seconds: list[float],
        over: Callable[[], bool],
    ) -> Any:
        """The first answer of a replica; None if there was none before the end."""
        at = self._rng.randrange(len(self._lines)) if self._options.scatter else tuner
        begin, pause = time.perf_counter(), 0.01
        while not over():
            try:
                answer = self._lines[at % len(self._lines)].post(path, body)
                seconds.append(time.perf_counter() - begin)
                return answer
            except Unavailable:
                self.notes.unavailable += 1
                at += 1
                time.sleep(pause * self._rng.uniform(0.5, 1.5))
                pause = min(2 * pause, 0.5)
        return None


def process(
    numbers: list[int],
    ports: list[int],
    token: str,
    options: Any,
    course: Course,
    answer: Connection,
) -> None:
    """Several clients in a process of their own, as programs are; it sends what they saw."""
    callers = [Caller(n, ports, token, options) for n in numbers]
    threads = [threading.Thread(target=caller.call, args=(course,)) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answer.send(([caller.notes for caller in callers], time.process_time()))
    answer.close()


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
) -> tuple[Counter[str], float]:
    """Kill replicas and restart the server, for as long as is asked for and until enough is told.

    In the last three seconds nothing is killed. Also the CPU seconds of servers that ended.
    """
    rng, done, ended = random.Random(7), Counter[str](), 0.0
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
            ended += server_seconds(server)
            server.stop("immediate")
            server.start()
            done["server restarts"] += 1
            restart = time.monotonic() + restart_every * rng.uniform(0.5, 1.5)
    time.sleep(3.0)
    course.finish()
    return done, ended


def verdict(url: str, tuners: int, notes: list[Notes]) -> dict[str, int]:
    """The journal beside what was acknowledged."""
    told: dict[str, dict[str, float]] = {}
    asked: dict[str, set[str]] = {}
    for each in notes:
        for name, id, latency in each.told:
            told.setdefault(name, {})[id] = latency
        for name, id, _ in each.asked:
            asked.setdefault(name, set()).add(id)
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
            found["decisions lost"] += len(asked.get(name, set()) - decided)
            for id, latency in told.get(name, {}).items():
                values = measured.get(id, [])
                found["tells lost"] += latency not in values
                found["tells doubled"] += max(len(values) - 1, 0)
    found["tells acknowledged"] = sum(map(len, told.values()))
    found["asks acknowledged"] = sum(map(len, asked.values()))
    return dict(found)


def seconds_of(process: int) -> float:
    """The CPU seconds of a process; of its children too, once they have ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def server_seconds(server: Server) -> float:
    """The CPU seconds of the server since its last restart."""
    master = (server.folder / "data" / "postmaster.pid").read_text().split()[0]
    programs = [master, *Path(f"/proc/{master}/task/{master}/children").read_text().split()]
    return sum(seconds_of(int(pid)) for pid in programs)


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
        ports = [replica.port for replica in replicas]
        before = server_seconds(server)
        began = time.monotonic()
        pipes = []
        for first in range(0, options.clients, AT_ONCE):
            numbers = list(range(first, min(first + AT_ONCE, options.clients)))
            receive, send = FORK.Pipe(duplex=False)
            FORK.Process(
                target=process, args=(numbers, ports, token, options, course, send)
            ).start()
            send.close()
            pipes.append(receive)
        done, ended = trouble(server, replicas, course, options)
        heard = [pipe.recv() for pipe in pipes]
        notes: list[Notes] = [seen for part, _ in heard for seen in part]
        elapsed = time.monotonic() - began
        cpu = (
            sum(replica.cpu() for replica in replicas),
            ended + server_seconds(server) - before,
            sum(seconds for _, seconds in heard),
        )
        for replica in replicas:
            replica.kill(signal.SIGTERM)
        figures["pgbench after"] = pgbench(server, options.clients, options.pgbench)
        asks = [x for each in notes for x in each.ask_seconds]
        tells = [x for each in notes for x in each.tell_seconds]
        figures |= {
            "calls a second": (len(asks) + len(tells)) / elapsed,
            "ask ms (p50, p99)": tuple(1000 * np.quantile(asks, [0.5, 0.99])),
            "tell ms (p50, p99)": tuple(1000 * np.quantile(tells, [0.5, 0.99])),
            "tells a second": len(tells) / elapsed,
            "cores: replicas, PostgreSQL, clients": tuple(x / elapsed for x in cpu),
            "calls without an answer": sum(each.unavailable for each in notes),
            **done,
            **verdict(url, options.tuners, notes),
        }
    finally:
        for replica in replicas:
            replica.kill()
        server.remove()
        rmtree(folder)
    return figures


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    for name, default in (
        ("tuners", 1000), ("replicas", 3), ("clients", 32), ("seconds", 300), ("kill-every", 10),
        ("restart-every", 60), ("pgbench", 10), ("scatter", 0), ("least", 0),
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
        print(f"{name:<38}{shown}")
    wrong = ("tells lost", "tells doubled", "decisions lost", "rounds decided twice")
    if any(figures.get(name) for name in wrong):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
