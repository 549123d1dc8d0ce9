"""The cache service of examples/: real servers, and nothing left of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cache_service
import numpy as np
import pytest
from cache_service import CacheLane, CacheService
from load import Load
from service import Service

from trimtab.errors import NotFound

HERE = Path(cache_service.__file__).resolve().parent

SERVERS = pytest.mark.needs("postgresql", "redis")
ROWS = 300


def tiny() -> CacheService:
    return CacheService(rows=ROWS, requests=60, seed=1)


@pytest.fixture(scope="module")
def system() -> Iterator[CacheService]:
    with tiny() as running:
        yield running


def start(system: CacheService) -> dict[str, float]:
    return system.spec.values(system.spec.start)


def means(lane: CacheLane, values: dict[str, float], windows: int = 12) -> dict[str, float]:
    seen = [lane.window(values) for _ in range(windows)][4:]  # the first still see the past
    return {name: float(np.mean([each[name] for each in seen])) for name in seen[0]}


@SERVERS
def test_a_lane_answers_with_every_metric(system: CacheService) -> None:
    measured = system.lane("one").window(start(system))
    names = {each.name for each in system.spec.objectives} | set(system.spec.metrics)
    assert set(measured) == names
    assert all(np.isfinite(value) and value >= 0.0 for value in measured.values())
    assert 0.0 < measured["latency_mean"] <= 1.5 * measured["latency_p95"]


@SERVERS
def test_the_same_window_has_the_same_keys_in_two_lanes(
    system: CacheService, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, list[tuple[float, ...]]] = {"one": [], "two": []}
    read = Service.read
    lanes = {name: system.lane(name) for name in asked}
    for name, lane in lanes.items():
        with monkeypatch.context() as patch:

            async def seen(
                service: Service,
                keys: list[int],
                draws: list[float],
                name: str = name,
            ) -> list[int]:
                asked[name].append((*keys, *draws))
                return await read(service, keys, draws)

            patch.setattr(Service, "read", seen)
            lane.window(start(system))
    assert len(asked["one"]) == 60
    assert sorted(asked["one"]) == sorted(asked["two"])


def test_windows_differ_by_number_and_by_seed() -> None:
    load = Load(rows=ROWS, requests=60, seed=1)
    assert load.window(3) == Load(rows=ROWS, requests=60, seed=1).window(3)
    assert load.window(3) != load.window(4)
    assert load.window(3) != Load(rows=ROWS, requests=60, seed=2).window(3)


@SERVERS
def test_a_longer_ttl_gives_more_stale_reads_and_less_for_the_database(
    system: CacheService,
) -> None:
    lane = system.lane("ttl")
    values = start(system) | {"early_refresh": 0.0}  # only age makes a miss
    short = means(lane, values | {"ttl": 3.0})
    long = means(lane, values | {"ttl": 300.0})
    assert short["stale_reads"] < 1.0
    assert long["stale_reads"] > short["stale_reads"] + 1.0
    assert long["db_time"] < 0.7 * short["db_time"]


@SERVERS
def test_after_a_change_of_the_workload_more_reads_are_stale(system: CacheService) -> None:
    lane, values = system.lane("changing"), start(system) | {"ttl": 100.0}
    before = means(lane, values)
    system.change()
    assert means(lane, values)["stale_reads"] > 2.0 * before["stale_reads"] + 1.0


@SERVERS
def test_the_memory_limit_reaches_redis(system: CacheService) -> None:
    lane = system.lane("memory")
    for limit in (3.0, 7.5):
        assert lane.window(start(system) | {"memory_limit": limit})["memory"] == limit


@SERVERS
def test_a_window_that_takes_too_long_is_not_measured(
    system: CacheService, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = system.lane("slow")
    with monkeypatch.context() as patch:
        patch.setattr(cache_service, "TIMEOUT", 0.005)
        assert all(np.isnan(value) for value in lane.window(start(system)).values())
    assert all(np.isfinite(value) for value in lane.window(start(system)).values())


@SERVERS
@pytest.mark.parametrize("fault", [None, RuntimeError, KeyboardInterrupt])
def test_nothing_is_left(
    fault: type[BaseException] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(tempfile.mkdtemp())  # short, for sockets, and open to PostgreSQL's own user
    folder.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    inside: list[Path] = []

    def use() -> None:
        with tiny() as system:
            system.lane("one")
            inside.extend(folder.iterdir())
            if fault is not None:
                raise fault

    if fault is None:
        use()
    else:
        with pytest.raises(fault):
            use()
    assert len(inside) == 2  # PostgreSQL's and ours
    assert not list(folder.iterdir())
    assert not running_in(inside)
    folder.rmdir()


def running_in(folders: list[Path]) -> list[str]:
    """The processes whose working folder was one of these."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        try:
            place = os.readlink(path)
        except OSError:  # it has ended, or is not ours
            continue
        if any(place.startswith(str(folder)) for folder in folders):
            found.append(path.parent.name)
    return found


@pytest.mark.parametrize(
    ("program", "package"), [("redis-server", "redis-server"), ("initdb", "postgresql")]
)
def test_what_is_not_installed_is_named(
    program: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/true" if name != program else None)
    if program == "initdb":
        monkeypatch.setattr("servers.postgresql", lambda: None)
    with pytest.raises(NotFound, match=f"{program} is not installed.*apt install {package}"):
        tiny().__enter__()


def test_the_command_says_what_to_install() -> None:
    result = subprocess.run(
        [sys.executable, "-S", str(HERE / "run.py")], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "is not installed" in result.stderr
    assert result.stderr.count("\n") == 1
