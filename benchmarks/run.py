"""All benchmarks, one after another, and what they print in RESULTS.md.

make bench                              everything, in an environment of its own
python benchmarks/run.py solver         one of them, from any environment with its rivals
"""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "RESULTS.md"
BENCHMARKS = (
    "solver",
    "steady",
    "advise",
    "drift",
    "calibration",
    "adaptive",
    "joint",
    "priors",
    "ogd",
    "frozen_tell",
    "play_events",
    "scale",
    "agreement",
    "peers",
    "journal",
    "tuner",
)
VERSIONS = ("trimtab", "numpy", "numba", "scipy")  # those of rivals are in their tables
HEAD = """# Benchmarks

Written by `make bench`. Ratios are between runs in one process on one thread, one after the
other; the machine is shared, so absolute times are only there to be divided.
"""


def cpu() -> str:
    """The name of the processor, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def versions() -> str:
    """The versions of what every benchmark uses."""
    found = [f"Python {platform.python_version()}"]
    for name in VERSIONS:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def sections() -> dict[str, str]:
    """What RESULTS.md holds of each benchmark."""
    if not RESULTS.exists():
        return {}
    parts = RESULTS.read_text().split("\n<!-- ")[1:]
    return {part.split(" -->", 1)[0]: part.split(" -->\n", 1)[1].strip() for part in parts}


def main() -> None:
    """Run the benchmarks named, or all, and renew their sections."""
    named = sys.argv[1:] or list(BENCHMARKS)
    if unknown := set(named) - set(BENCHMARKS):
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    for name in named:
        print(f"--- {name}", file=sys.stderr, flush=True)
        command = [sys.executable, str(HERE / f"{name}.py")]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        print(run.stdout)
        text = run.stdout.strip()
        if not text.startswith("#"):
            text = f"## `{name}.py`\n\n```text\n{text}\n```"
        held = sections()  # now, since a benchmark may take an hour
        held[name] = f"{text}\n\n{versions()}; {cpu()}."
        order = dict.fromkeys([*BENCHMARKS, *held])  # what others have written comes last
        body = "".join(f"\n<!-- {n} -->\n{held[n]}\n" for n in order if n in held)
        RESULTS.write_text(HEAD + body)


if __name__ == "__main__":
    main()
