"""Plays, records or validates tuners on the cache service: `python run.py --help`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE)]


def main() -> int:
    """The exit code: 2 if something that it needs is not installed."""
    try:
        from cache_service import CacheService

        from benchmarks.proving.command import main as command
    except ModuleNotFoundError as error:
        sys.stderr.write(
            f"the Python package {error.name} is not installed; "
            "in the repository: pip install -e '.[dev]' redis hiredis\n"
        )
        return 2
    return command(CacheService)


if __name__ == "__main__":
    sys.exit(main())
