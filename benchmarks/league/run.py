"""The whole league, one command; runs are kept as they end, and the next call goes on.

    python -m benchmarks.league.run                  everything, then RESULTS.md and figures/
    python -m benchmarks.league.run --quick          a few minutes: short, one seed, small worlds
    python -m benchmarks.league.run --players Steady SPSA --worlds drift

Run it from the repository, in an environment with requirements/bench.txt; players whose packages
are absent are left out, and the results say so.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from benchmarks.league.match import Score, match
from benchmarks.league.players import ENTRIES, Entry
from benchmarks.league.worlds import settings
from trimtab.sim.sweep.blas import one_blas_thread

HERE = Path(__file__).resolve().parent
HORIZON, SEEDS = 5_000, 6
FIRST = 100  # the first seed; lower ones were used while the league was built
SLOW_SEEDS = 2  # of slow players
QUICK_HORIZON = 500
EVERYBODY = ("worlds", "match")  # files that decide every score
OURS, THEIRS = ("players",), ("rivals", "gaussian_process")


@dataclass(frozen=True)
class Job:
    """A match to be played."""

    world: str
    player: str
    seed: int
    horizon: int

    @property
    def key(self) -> str:
        """A digest of everything that decides the score, but for the library's own source."""
        entry = next(entry for entry in ENTRIES if entry.name == self.player)
        packages = [f"{name} {version(name)}" for name in ("trimtab", *entry.needs)]
        files = (*EVERYBODY, *(OURS if entry.ours else THEIRS))
        words = json.dumps([asdict(self), packages, *map(_source, files)])
        return hashlib.sha256(words.encode()).hexdigest()[:24]


@cache
def _source(name: str) -> str:
    return (HERE / f"{name}.py").read_text()


@dataclass(frozen=True)
class Run:
    """A match that was played."""

    job: Job
    score: Score
    seconds: float  # of CPU


def jobs(
    horizon: int, seeds: int, *, worlds: Sequence[str] = (), players: Sequence[str] = ()
) -> list[Job]:
    """Every match, seed after seed, so that what was played before a stop is comparable."""
    return [
        Job(setting.name, entry.name, seed, horizon)
        for seed in range(FIRST, FIRST + seeds)
        for setting in settings(horizon)
        for entry in ENTRIES
        if entry.installed()
        and (not entry.slow or (setting.small and seed < FIRST + SLOW_SEEDS))
        and (not worlds or setting.name in worlds)
        and (not players or entry.name in players)
    ]


def play(job: Job) -> Run:
    """Play a match."""
    setting = next(s for s in settings(job.horizon) if s.name == job.world)
    entry: Entry = next(entry for entry in ENTRIES if entry.name == job.player)
    begun = time.process_time()
    with one_blas_thread():
        place = setting.make(job.seed)
        player = entry.make(place, horizon=job.horizon, seed=job.seed)
        score = match(player, place, horizon=job.horizon, seed=job.seed, delay=setting.delay)
    return Run(job, score, time.process_time() - begun)


class Store:
    """The runs of a file, a line of JSON each, by the key of their job."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs: dict[str, Run] = {}
        content = path.read_text() if path.exists() else ""
        self._cut = bool(content) and not content.endswith("\n")
        for line in content.splitlines():
            try:
                row: dict[str, Any] = json.loads(line)
            except json.JSONDecodeError:  # cut off by a kill: it is played again
                continue
            score = Score(**row["score"] | {"curve": tuple(row["score"]["curve"])})
            run = Run(Job(**row["job"]), score, row["seconds"])
            self.runs[row["key"]] = run

    def add(self, run: Run) -> None:
        """Keep a run, on the disk at once."""
        self.runs[run.job.key] = run
        with self.path.open("a") as file:
            start = "\n" * self._cut
            file.write(start + json.dumps({"key": run.job.key, **asdict(run)}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._cut = False

    def of(self, wanted: Sequence[Job]) -> list[Run]:
        """Those of the jobs that have been played."""
        keys = (job.key for job in wanted)
        return [self.runs[key] for key in keys if key in self.runs]


def conduct(wanted: Sequence[Job], store: Store, *, workers: int) -> list[str]:
    """Play what is not in the store; the errors of matches that failed."""
    missing = [job for job in wanted if job.key not in store.runs]
    errors = []
    for job, run in track(
        _played(missing, workers), "Playing", total=len(missing), console=Console(stderr=True)
    ):
        if isinstance(run, Run):
            store.add(run)
        else:
            errors.append(f"{job}: {run}")
    return errors


def _played(missing: Sequence[Job], workers: int) -> Iterator[tuple[Job, Run | str]]:
    if workers == 1:
        for job in missing:
            yield job, _or_error(job)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        begun = {pool.submit(_or_error, job): job for job in missing}
        try:
            for done in as_completed(begun):
                yield begun[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _or_error(job: Job) -> Run | str:
    """The run, or why there is none: a rival that breaks down does not stop the league."""
    try:
        return play(job)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the league and write its results; 1 if a match failed."""
    parser = argparse.ArgumentParser(description="A league of stability.")
    parser.add_argument("--horizon", type=int, default=HORIZON)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--worlds", nargs="*", default=())
    parser.add_argument("--players", nargs="*", default=())
    parser.add_argument("--quick", action="store_true", help="short, one seed, small worlds")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for everything")
    chosen = parser.parse_args(arguments)
    if chosen.quick:
        chosen.horizon, chosen.seeds = QUICK_HORIZON, 1
        chosen.worlds = chosen.worlds or [s.name for s in settings(QUICK_HORIZON) if s.small]
    wanted = jobs(chosen.horizon, chosen.seeds, worlds=chosen.worlds, players=chosen.players)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch: threads triple the CPU of small models
    chosen.out.mkdir(parents=True, exist_ok=True)
    store = Store(chosen.out / "runs.jsonl")
    errors = conduct(wanted, store, workers=chosen.workers)
    for error in errors:
        print(error)
    from benchmarks.league.report import write

    print(write(store.of(wanted), chosen.out))
    return 1 if errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
