"""The command line of a real system: `play`, `report`, `record` and `validate`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from benchmarks.proving import windows as raw
from benchmarks.proving.arms import ENTRIES, OURS, Entry, Tuned, entries, latecomer
from benchmarks.proving.conduct import conduct, judged
from benchmarks.proving.record import record
from benchmarks.proving.report import written
from benchmarks.proving.system import System
from benchmarks.proving.validate import validate
from benchmarks.proving.windows import Window
from trimtab.errors import InvalidInput, TrimtabError
from trimtab.live import Spec
from trimtab.paper import figures


def main(make: Callable[[], System], argv: Sequence[str] | None = None) -> int:
    """The exit code: 0 if done, 1 if cut short, 2 if something is missing or wrong.

    One sentence on stderr then says what.

    Args:
        make: the system; called once.
        argv: the arguments, those of the process by default.
    """
    asked = _parser().parse_args(argv)
    try:
        if asked.command == "play":
            return _play(make, asked)
        if asked.command == "report":
            spec = _system(make, asked).spec
            windows = raw.read(asked.windows, spec)
            print(written(windows, spec, asked.out, change=asked.change))
            return 0
        if asked.command == "record":
            with make() as system:
                sizes = {"states": asked.states, "hold": asked.hold, "seed": asked.seed}
                print(record(system, asked.out, **sizes))
            return 0
        recorded = import_module("benchmarks.league.recorded").recorded
        with make() as system:
            world = recorded(asked.world or system.name)
            print(validate(system, world, windows=asked.windows, seed=asked.seed).table())
        return 0
    except KeyboardInterrupt:
        print(
            "\ncut short; a recording goes on when the same command is given again", file=sys.stderr
        )
        return 1
    except (TrimtabError, ImportError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


def _play(make: Callable[[], System], asked: argparse.Namespace) -> int:
    figures.require()  # before an hour of playing, not after it
    chosen = entries(asked.arms)
    if asked.change is not None:
        if not 0 < asked.change < asked.windows:
            raise InvalidInput(f"--change {asked.change}: give one of the first windows of a run")
        chosen.append(latecomer(asked.change))
    played: list[Window] = []
    alarms: list[str] = []
    asked.out.mkdir(parents=True, exist_ok=True)
    with _system(make, asked) as system:
        try:
            for run in range(1, asked.runs + 1):
                alarms += _run(system, chosen, run, asked, played)
        except KeyboardInterrupt:
            print("\ncut short; what was played is kept", file=sys.stderr)
        finally:
            raw.write(played, system.spec, asked.out)
        print(written(played, system.spec, asked.out, change=asked.change, alarms=alarms))
    return 0


def _system(make: Callable[[], System], asked: argparse.Namespace) -> System:
    """The system, with another spec if one was named."""
    system = make()
    if asked.spec is not None:
        spec = Spec.read(asked.spec)
        if [knob.name for knob in spec.knobs] != [knob.name for knob in system.spec.knobs]:
            raise InvalidInput(f"{asked.spec} has other knobs than {system.name}")
        system.spec = spec
    return system


def _run(
    system: System, chosen: list[Entry], run: int, asked: argparse.Namespace, played: list[Window]
) -> list[str]:
    """Add the windows of a run to those played, also if it ends early; what alarms rang."""
    seed, mine = asked.seed + run, list[Window]()
    with ExitStack() as open_things:
        folder = Path(open_things.enter_context(tempfile.TemporaryDirectory()))
        arms = {}
        for entry in chosen:
            arm = entry.make(system.spec, horizon=asked.windows, seed=seed, folder=folder)
            open_things.callback(arm.close)
            arms[entry.name] = arm
        try:
            sizes = {"run": run, "windows": asked.windows, "seed": seed, "change": asked.change}
            for window in conduct(system, arms, **sizes):
                mine.append(window)
        finally:
            played += judged(mine, system.spec)
        ours = arms.get(OURS)
        if asked.change is None or not isinstance(ours, Tuned):
            return []
        rung = ", ".join(map(str, ours.alarms()))
        said = f"rang before window {rung}" if rung else "did not ring"
        return [f"Run {run}: the alarm of {OURS} {said}."]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Tune a real system, and record it.")
    commands = parser.add_subparsers(dest="command", required=True)

    usual = [name for name, entry in ENTRIES.items() if not entry.extra]
    play = commands.add_parser("play", help="arms take turns; table, picture and raw windows")
    play.add_argument("--runs", type=int, default=3)
    play.add_argument("--windows", type=int, default=320, help="of every arm in a run")
    play.add_argument("--arms", nargs="+", default=usual, metavar="ARM")
    play.add_argument("--seed", type=int, default=0)
    play.add_argument("--out", type=Path, required=True, help="a folder")
    play.add_argument("--spec", type=Path, help="another spec of the same knobs")
    play.add_argument(
        "--change", type=int, metavar="WINDOW", help="after which the workload is another one"
    )

    again = commands.add_parser("report", help="the same from raw windows")
    again.add_argument("windows", type=Path, help="windows.csv or windows.csv.gz")
    again.add_argument("--out", type=Path, required=True, help="a folder")
    again.add_argument("--spec", type=Path, help="the spec that was played")
    again.add_argument("--change", type=int, metavar="WINDOW", help="after which it changed")

    rec = commands.add_parser("record", help="measure states all over the box, for the league")
    rec.add_argument("--states", type=int, default=1000)
    rec.add_argument("--hold", type=int, default=5, help="windows at each state")
    rec.add_argument("--seed", type=int, default=0)
    rec.add_argument("--out", type=Path, required=True, help="a .csv.gz file")

    check = commands.add_parser("validate", help="compare a recorded world with the system")
    check.add_argument("--world", help="its name in the league; the system's own by default")
    check.add_argument("--windows", type=int, default=10, help="at each state")
    check.add_argument("--seed", type=int, default=1)
    return parser
