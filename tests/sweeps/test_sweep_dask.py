"""Sweeps on a Dask cluster: the same numbers, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sweeps.test_sweep import GUESS, RING, STAY, every_policy
from tests.sweeps.test_sweep_cli import command
from tests.sweeps.test_sweep_local import MANY, PATIENCE, SWEEP, stored, undisturbed
from trimtab.errors import InvalidInput, TrimtabError
from trimtab.sweeps import sweep
from trimtab.sweeps.cluster import on_cluster
from trimtab.sweeps.plan import plan

distributed: Any = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=0,  # no watching, no warnings about a machine that others use too
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_the_same_bits_on_a_cluster(client: Any) -> None:
    options: dict[str, Any] = {"seeds": 1, "horizon": 25, "final_states": True}
    some = ("LinUCB", "LazyGraphLinUCB", "SteadyGraphLinUCB", "PooledGraphLinUCB", "RandomState")
    policies = {name: every_policy()[name] for name in some}
    policies["out"] = {**STAY, "start": 2.0}
    here = sweep(policies, {"ring": RING}, workers=1, **options)
    there = sweep(policies, {"ring": RING}, client=client, **options)
    assert there.same_numbers(here)
    assert len(there) == len(some)
    assert [failure.policy for failure in there.failures] == ["out"]
    assert there.failures[0].error == here.failures[0].error


def test_the_command_on_a_cluster(client: Any, tmp_path: Path) -> None:
    spec = tmp_path / "x.toml"
    spec.write_text(
        'horizon = 5\nseeds = 2\npolicies.stay = { kind = "FixedState", start = 0.5 }\n'
        'worlds.path = { kind = "linear", graph = { kind = "path", knobs = 2 } }\n',
        encoding="utf-8",
    )
    ended = command(str(spec), "--scheduler", client.scheduler.address)
    assert ended.exit_code == 0, ended.output
    assert len(stored(tmp_path / "x.sqlite")) == 2
    both = command(str(spec), "--scheduler", client.scheduler.address, "--workers", "2")
    assert isinstance(both.exception, InvalidInput)


def test_a_killed_worker(client: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    pids = client.run(os.getpid)
    killed = []

    def kill() -> None:
        until = time.monotonic() + PATIENCE
        while len(stored(path)) < MANY // 6 and time.monotonic() < until:
            time.sleep(0.02)
        pid = min(pids.values())
        os.kill(pid, signal.SIGKILL)
        killed.append((pid, len(stored(path))))

    killer = threading.Thread(target=kill)
    killer.start()
    there = sweep(**SWEEP, store=path, client=client)
    killer.join()
    ((pid, done),) = killed
    assert MANY // 6 <= done < MANY  # the sweep was going on
    assert pid not in client.run(os.getpid).values()
    assert len(stored(path)) == MANY
    assert not there.failures
    assert there.same_numbers(undisturbed())


def test_few_runs_are_under_way_at_once(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    submitted = 0
    submit = client.submit

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal submitted
        submitted += 1
        return submit(*args, **options)

    monkeypatch.setattr(client, "submit", counted)
    runs = plan({"stay": STAY, "guess": GUESS}, {"ring": RING}, seeds=20, horizon=5).to_do(set())
    ended = 0
    batches = on_cluster(runs, client)
    for batch in batches:
        ended += len(batch)
        assert submitted - ended <= 4  # two threads, one run made and one waiting for each
        if ended > 10:
            break
    batches.close()
    assert submitted < 40
    until = time.monotonic() + PATIENCE
    while client.futures and time.monotonic() < until:
        time.sleep(0.02)
    assert not client.futures  # what was under way is cancelled


def test_a_lost_cluster_is_told() -> None:
    class Lost:
        status = "cancelled"

    from trimtab.sweeps.cluster import _outcome

    with pytest.raises(TrimtabError, match="those that ended are kept"):
        _outcome(Lost())


def test_what_is_no_client_is_refused(client: Any) -> None:
    with pytest.raises(InvalidInput, match="give one"):
        sweep({"stay": STAY}, {"ring": RING}, seeds=1, horizon=5, client=client, workers=2)
