"""Anything is killed or stopped at any moment: the journal knows the system, and it goes on.

Real processes: `trimtab run`, Redis, PostgreSQL. What the source says is a function of what Redis
holds at that moment, so that a metric that was told of other values shows.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.postgres import Server as PostgresServer
from tests.run.redis import RedisServer
from tests.run.web import Got, Reply, Server, json_reply, server
from trimtab.errors import TrimtabError
from trimtab.live.replay import replay
from trimtab.live.store.opening import open_journal
from trimtab.live.tuner import Tuner

SPEC = """
name = "shop"
[knobs.ttl]
low = 30
high = 3000
start = 300
stability = {{ max_step = 700 }}
[objectives.latency]
knobs = ["ttl"]
low = 50
high = 250
[source]
kind = "http"
url = "{url}"
time = "at"
window = "1s"
patience = "3s"
timeout = "1s"
[target]
kind = "redis"
url = "{redis}"
timeout = "1s"
"""


# Seconds for which each is away. With TRIMTAB_STOP_SECONDS=100 it is a campaign of eleven minutes.
AWAY = float(os.environ.get("TRIMTAB_STOP_SECONDS", "1.5"))


def latency(ttl: float) -> float:
    return 100.0 + ttl / 100.0


class World:
    """Everything that can be killed."""

    def __init__(
        self, folder: Path, web: Server, store: RedisServer, postgres: PostgresServer
    ) -> None:
        self.folder, self.web, self.redis, self.postgres = folder, web, store, postgres
        self.storage = postgres.url
        self.spec = folder / "spec.toml"
        self.spec.write_text(SPEC.format(url=web.url, redis=store.url))
        self.down = False
        web.answer = self._answer
        self.process: subprocess.Popen[bytes] | None = None

    def _answer(self, got: Got) -> Reply:
        if self.down:
            return Reply(b"down", 500)
        try:
            return json_reply({"latency": latency(self.ttl() or 0.0), "at": time.time()})
        except redis.RedisError:
            return Reply(b"Redis is down", 503)

    def ttl(self) -> float | None:
        """What the system has."""
        with redis.Redis.from_url(self.redis.url, decode_responses=True) as client:
            value = client.get("ttl")
        return None if value is None else float(str(value))

    def begin(self) -> None:
        command = [str(Path(sys.executable).with_name("trimtab")), "run", str(self.spec)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([*command, "--storage", self.storage], stderr=log)

    def send(self, number: int) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            assert self.process.wait(20) == (-number if number == signal.SIGKILL else 0)

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()

    def journal(self, what: Callable[[Tuner], Any]) -> Any:
        with open_journal(self.storage) as journal:
            return what(Tuner.existing("shop", journal))

    def order(self, ttl: float) -> None:
        """Somebody wants a value; so there is always something under way."""
        with suppress(TrimtabError, OSError):  # the store is down
            self.journal(lambda tuner: tuner.override({"ttl": ttl}))

    def rounds(self, more: int, seconds: float = 60.0) -> None:
        """Wait until this number of further windows were told."""
        end = time.monotonic() + seconds
        before = None
        while time.monotonic() < end:
            try:
                told = len(self.journal(lambda tuner: tuner.history(kinds=["tell"])))
            except TrimtabError:
                told = None
            if told is not None:
                before = told if before is None else before
                if told >= before + more:
                    return
            time.sleep(0.2)
        raise TimeoutError(f"not {more} more rounds:\n" + (self.folder / "log").read_text()[-3000:])

    def check(self) -> None:
        """The journal knows the system; nothing was told of other values than those played."""
        with open_journal(self.storage) as journal:
            assert replay(journal, "shop").same
            tuner = Tuner.existing("shop", journal)
            assert tuner.status().values["ttl"] == pytest.approx(self.ttl())
            played = {row.id: row.values["ttl"] for row in tuner.history(kinds=["decide"])}
            rows = [row for row in tuner.history(kinds=["tell"]) if row.told]
        assert len(rows) >= 6
        for row in rows:
            (mean, _, _) = row.told["latency"] or (0.0, None, 0)
            assert mean == pytest.approx(latency(played[row.id])), row.text


@pytest.fixture
def world(tmp_path: Path, redis_folder: Path) -> Iterator[World]:
    store, postgres = RedisServer(redis_folder), PostgresServer()
    store.start()
    postgres.start()
    with server() as web:
        made = World(tmp_path, web, store, postgres)
        yield made
        made.end()
    store.stop()
    postgres.stop("immediate")
    shutil.rmtree(postgres.folder, ignore_errors=True)


@pytest.fixture
def redis_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("r")


@pytest.mark.slow
@pytest.mark.needs("postgresql", "redis")
def test_anything_may_be_killed_or_stopped(world: World) -> None:
    chance = random.Random(7)
    world.begin()
    world.rounds(1)

    def loop_killed() -> None:
        time.sleep(chance.uniform(0.0, 1.2))
        world.send(signal.SIGKILL)
        time.sleep(AWAY)
        world.begin()

    def loop_stopped() -> None:
        world.send(signal.SIGSTOP)
        time.sleep(2.5 + AWAY)  # longer than patience: the window is too old
        world.send(signal.SIGCONT)

    def source_down() -> None:
        world.down = True
        time.sleep(0.5 + AWAY)
        world.down = False

    def target_killed() -> None:
        world.redis.stop()
        world.order(400.0)
        time.sleep(AWAY)
        world.redis.start()

    def store_killed() -> None:
        world.postgres.stop("immediate")
        time.sleep(AWAY)
        world.postgres.start()

    for fault in (loop_killed, target_killed, loop_stopped, store_killed, source_down, loop_killed):
        world.order(chance.uniform(100.0, 900.0))
        time.sleep(chance.uniform(0.0, 0.5))
        fault()
        world.rounds(2)
    world.send(signal.SIGTERM)
    world.check()
    log = (world.folder / "log").read_text()
    for line in ("target-fault", "store-fault", "source-fault", "applied", "stopped"):
        assert f" {line} " in log, line


@pytest.mark.slow
@pytest.mark.needs("postgresql", "redis")
def test_sigterm_ends_it_between_two_steps(world: World) -> None:
    world.begin()
    world.rounds(1)
    world.order(500.0)
    time.sleep(0.4)
    world.send(signal.SIGTERM)
    values = world.journal(lambda tuner: tuner.status().values)
    assert values["ttl"] == pytest.approx(world.ttl())


@pytest.mark.slow
@pytest.mark.needs("postgresql", "redis")
def test_sighup_reads_the_limits_again(world: World) -> None:
    world.begin()
    world.rounds(1)
    text = world.spec.read_text()
    world.spec.write_text(text.replace("max_step = 700", "max_step = 50"))
    world.send(signal.SIGHUP)
    world.rounds(1)
    world.order(900.0)
    world.rounds(2)
    moves = [row.moved for row in world.journal(lambda tuner: tuner.history(kinds=["decide"]))]
    assert max(moves) <= 50 / (3000 - 30) + 1e-9
    world.spec.write_text(text.replace("high = 3000", "high = 9999"))
    world.send(signal.SIGHUP)
    world.rounds(1)
    world.send(signal.SIGTERM)
    log = (world.folder / "log").read_text()
    assert " spec-read " in log
    assert " spec-refused " in log


def test_once_plays_a_round_at_a_time(tmp_path: Path) -> None:
    with server(lambda got: json_reply({"latency": 120.0})) as web:
        spec = tmp_path / "spec.toml"
        text = SPEC.format(url=web.url, redis="redis://nowhere").replace('time = "at"\n', "")
        file = f'kind = "file"\npath = "{tmp_path / "knobs.json"}"\n'
        spec.write_text(text[: text.index('kind = "redis"')] + file)
        command = [str(Path(sys.executable).with_name("trimtab")), "run", str(spec), "--once"]
        store = ["--storage", str(tmp_path / "a.db"), "--log", "json"]

        def once() -> list[str]:
            done = subprocess.run([*command, *store], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            return [json.loads(line)["event"] for line in done.stderr.splitlines()]

        assert once() == ["began", "decided", "applied"]
        time.sleep(1.2)
        assert once() == ["began", "decided", "told", "decided"]
        assert json.loads((tmp_path / "knobs.json").read_text()) == {"ttl": 300.0}
        web.answer = lambda got: Reply(b"down", 500)
        time.sleep(1.2)
        done = subprocess.run([*command, *store], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "source-fault" in done.stderr
