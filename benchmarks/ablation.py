"""Which parts of the search pay: the total cost of the default policy without each of them.

    python benchmarks/ablation.py                        every arm, 10 seeds, 300 rounds
    python benchmarks/ablation.py --horizon 5000 --seeds 3 --arms "one descent"
    python benchmarks/ablation.py --revision HEAD~3      the arms of an earlier version
    python benchmarks/ablation.py --seeds 2 --first-seed 602 --known a.json --out b.json
                                                         two seeds more than those of a.json

An *arm* is the library with a few lines replaced. Each is copied from a commit, built and
installed into a folder of its own, and plays the league's matches as *told nothing*: the same
26 worlds, seeds and noise. Reported is the geometric mean over the worlds of cost / cost of the
whole library, and the CPU of both. The best states that regret is measured from are those of the
whole library. Seeds are from 600 on, which nothing else uses.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
FIRST_SEED = 600


@dataclass(frozen=True)
class Edit:
    """A piece of a file that an arm has another text for."""

    path: str
    old: str
    new: str


DESCENT, LINE = "src/core/descent.hpp", "src/core/line_search.hpp"
WHOLE = "whole"
ARMS: dict[str, tuple[Edit, ...]] = {
    WHOLE: (),
    "one descent": (Edit(DESCENT, "effort.steps > 0 &&", "effort.steps < 0 &&"),),
    "5 starts agree, not 30": (Edit(DESCENT, "Index FEW = 8", "Index FEW = 0"),),
    "no starts in corners": (Edit(DESCENT, "c % 2 == 1", "c < 0"),),
    "no notches": (Edit(LINE, "if (line_.degree > 1)\n", "if (line_.degree > 9)\n"),),
    "one valley between samples": (Edit(LINE, "if (before * after > 0.0 &&", "if (false &&"),),
}


class Arm:
    """An edited copy of the library, built and ready to play."""

    def __init__(self, name: str, revision: str, folder: Path) -> None:
        self.tree, self.library = folder / "tree", folder / "library"
        self.tree.mkdir(parents=True)
        archive = subprocess.run(
            ["git", "archive", revision], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(["tar", "-x"], cwd=self.tree, input=archive.stdout, check=True)
        for edit in ARMS[name]:
            file = self.tree / edit.path
            text = file.read_text()
            if text.count(edit.old) != 1:
                raise SystemExit(f"{name}: {edit.path} of {revision} does not have this once")
            file.write_text(text.replace(edit.old, edit.new))
        install = ["-m", "pip", "-qq", "install", "--no-deps", "--no-build-isolation", "--target"]
        subprocess.run([sys.executable, *install, self.library, self.tree], check=True)

    def play(self, jobs: Sequence[tuple[str, int, int]]) -> list[dict[str, float]]:
        """The scores of matches: (world, seed, rounds) each."""
        # -S: the editable installation would come before the arm's own.
        paths = [self.library, self.tree, sysconfig.get_path("purelib")]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
        out = subprocess.run(
            [sys.executable, "-S", "-c", PLAY],
            input=json.dumps(jobs),
            env=env,
            check=True,
            capture_output=True,
            text=True,
        )
        return [json.loads(line) for line in out.stdout.splitlines()]


PLAY = """
import json, sys
from benchmarks.league.run import Job, play
for world, seed, rounds in json.load(sys.stdin):
    run = play(Job(world, "told nothing", seed, rounds))
    loss, best = run.score.loss, run.score.loss - run.score.regret
    print(json.dumps({"loss": loss, "best": best, "price": run.score.price, "s": run.seconds}))
"""


def _cost(mine: dict[str, float], whole: dict[str, float]) -> float:
    return mine["loss"] - whole["best"] + mine["price"]


def report(
    scores: dict[str, list[dict[str, float]]], jobs: Sequence[tuple[str, int, int]]
) -> list[str]:
    """A row per arm: the geometric mean of its share of the whole's cost, extremes, and CPU."""
    worlds = [world for world, _, _ in jobs]
    lines = [
        "| without | cost / whole | least | most world | CPU / whole |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, mine in scores.items():
        whole = scores[WHOLE][: len(mine)]
        totals: dict[str, list[float]] = {}
        for world, a, b in zip(worlds, mine, whole, strict=False):
            both = totals.setdefault(world, [0.0, 0.0])
            both[0] += _cost(a, b)
            both[1] += _cost(b, b)
        shares = np.array([a / b for a, b in totals.values()])
        cpu = sum(a["s"] for a in mine) / sum(b["s"] for b in whole)
        mean = float(np.exp(np.log(shares).mean()))
        lines.append(
            f"| {name} | {mean:.3f} | {shares.min():.3f} | {shares.max():.3f} | {cpu:.2f} |"
        )
    return lines


def main() -> None:
    """Play, and print the table after every seed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--horizon", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--arms", nargs="*", default=[name for name in ARMS if name != WHOLE])
    parser.add_argument("--worlds", nargs="*", default=None)
    parser.add_argument("--revision", default="HEAD")
    parser.add_argument("--out", type=Path, help="also write all scores here, as JSON")
    parser.add_argument(
        "--known", nargs="*", type=Path, default=[], help="such files, of the same arms, to add to"
    )
    chosen = parser.parse_args()
    from benchmarks.league.worlds import settings

    worlds = chosen.worlds or [setting.name for setting in settings(chosen.horizon)]
    jobs: list[tuple[str, int, int]] = []
    scores: dict[str, list[dict[str, float]]] = {name: [] for name in (WHOLE, *chosen.arms)}
    for file in chosen.known:
        known = json.loads(file.read_text())
        jobs += [tuple(job) for job in known["jobs"]]
        for name in scores:
            scores[name] += known["scores"][name]
    with tempfile.TemporaryDirectory() as folder:
        arms = {
            name: Arm(name, chosen.revision, Path(folder) / str(n)) for n, name in enumerate(scores)
        }
        for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
            new = [(world, seed, chosen.horizon) for world in worlds]
            jobs += new
            for name, arm in arms.items():
                scores[name] += arm.play(new)
            print(f"\n{len(worlds)} worlds, {len(jobs) // len(worlds)} seeds:")
            print(*report(scores, jobs), sep="\n", flush=True)
            if chosen.out:
                chosen.out.write_text(json.dumps({"jobs": jobs, "scores": scores}))


if __name__ == "__main__":
    main()
