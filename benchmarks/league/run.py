"""The league, one command; matches are kept as they end, and the next call goes on.

    python -m benchmarks.league.run                  everything, then RESULTS.md and figures/
    python -m benchmarks.league.run --short          minutes: ours at 300 rounds, the rest frozen
    python -m benchmarks.league.run --players Tuner SPSA --worlds drift --horizons 300
    python -m benchmarks.league.run --freeze         also write what was played as the baseline

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
from functools import cache, lru_cache
from importlib.metadata import packages_distributions, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

import trimtab
from benchmarks.league.match import Score, match
from benchmarks.league.place import Place, Setting
from benchmarks.league.players import ENTRIES, Entry
from benchmarks.league.worlds import settings
from trimtab import _core
from trimtab.parallel.blas import one_blas_thread

HERE = Path(__file__).resolve().parent
HORIZONS, SEEDS = (300, 1_000, 5_000), 6
FIRST = 100  # the first seed; lower ones were used while the league was built
SHORT = 3  # seeds of the short form, at the shortest horizon
EVERYBODY = ("worlds.py", "place.py", "match.py")  # files that decide every score


@dataclass(frozen=True)
class Job:
    """A match to be played."""

    world: str
    player: str
    seed: int
    horizon: int

    @property
    def setting(self) -> Setting:
        """Its world."""
        return next(s for s in settings(self.horizon) if s.name == self.world)

    @property
    def entry(self) -> Entry:
        """Its player."""
        return next(entry for entry in ENTRIES if entry.name == self.player)

    @property
    def key(self) -> str:
        """A digest of everything that decides the score, the library's source included."""
        packages = [f"{name} {version_of(name)}" for name in ("numpy", *self.entry.needs)]
        files = dict.fromkeys((*EVERYBODY, *self.setting.files, *self.entry.files))
        words = [asdict(self), packages, library_digest(), *map(_digest, files)]
        return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:24]


@cache
def version_of(package: str) -> str:
    """The version of what is installed under a name that can be imported."""
    return version(packages_distributions()[package][0])


@cache
def _digest(name: str) -> str:
    return hashlib.sha256((HERE / name).read_bytes()).hexdigest()


@cache
def library_digest() -> str:
    """A digest of all sources of the library that plays."""
    root = Path(trimtab.__file__).parent
    files = sorted(path for path in root.rglob("*") if path.suffix in (".py", ".so", ".toml"))
    parts = [path.relative_to(root).as_posix().encode() + path.read_bytes() for path in files]
    parts.append(Path(_core.__file__).read_bytes())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


@dataclass(frozen=True)
class Run:
    """A match that was played."""

    job: Job
    score: Score
    seconds: float  # of CPU


def jobs(
    horizons: Sequence[int],
    seeds: int,
    *,
    worlds: Sequence[str] = (),
    players: Sequence[str] = (),
) -> list[Job]:
    """Every match, seed after seed, so that what was played before a stop is comparable."""
    return [
        Job(setting.name, entry.name, seed, horizon)
        for seed in range(FIRST, FIRST + seeds)
        for setting in settings(horizons[0])
        for horizon in horizons
        for entry in ENTRIES
        if entry.installed()
        and (not worlds or setting.name in worlds)
        and (not players or entry.name in players)
        and _takes_part(entry, setting, horizon)
    ]


def _takes_part(entry: Entry, setting: Setting, horizon: int) -> bool:
    if entry.slow and not (setting.small and horizon <= HORIZONS[0]):
        return False
    return not entry.boxes or setting.box


def place_of(job: Job) -> Place:
    """The place of a match. Finding its best state may take longer than the match."""
    return _place(job.world, job.seed, job.horizon if job.setting.drifts else HORIZONS[0])


@lru_cache(maxsize=4)
def _place(world: str, seed: int, horizon: int) -> Place:
    return next(s for s in settings(horizon) if s.name == world).make(seed)


def play(job: Job) -> Run:
    """Play a match."""
    with one_blas_thread():
        place = place_of(job)
        place.world.at(1)[0].optimum  # noqa: B018 - so that it is not on the player's clock
        begun = time.process_time()
        player = job.entry.make(place, horizon=job.horizon, seed=job.seed)
        score = match(player, place, horizon=job.horizon, seed=job.seed, delay=job.setting.delay)
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
    parser.add_argument("--horizons", type=int, nargs="*", default=HORIZONS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--worlds", nargs="*", default=())
    parser.add_argument("--players", nargs="*", default=())
    parser.add_argument("--short", action="store_true", help="ours alone, 300 rounds, 3 seeds")
    parser.add_argument("--freeze", action="store_true", help="write the baseline as well")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for everything")
    chosen = parser.parse_args(arguments)
    if chosen.short:
        chosen.horizons, chosen.seeds = HORIZONS[:1], SHORT
        chosen.players = chosen.players or [entry.name for entry in ENTRIES if entry.ours]
    wanted = jobs(chosen.horizons, chosen.seeds, worlds=chosen.worlds, players=chosen.players)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch: threads triple the CPU of small models
    chosen.out.mkdir(parents=True, exist_ok=True)
    store = Store(chosen.out / "runs.jsonl")
    errors = conduct(wanted, store, workers=chosen.workers)
    for error in errors:
        print(error)
    from benchmarks.league import baseline, report

    runs = store.of(wanted)
    if chosen.freeze:
        baseline.freeze(runs)
    if chosen.short:
        print(report.summary(baseline.beside(runs)))
    else:
        print(report.write(baseline.beside(runs), chosen.out))
    return 1 if errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
