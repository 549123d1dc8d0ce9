"""The log shipper, tuned or recorded: `python examples/log-shipper/run.py play --out shipped`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from log_shipper import LogShipper  # noqa: E402

from benchmarks.proving.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(LogShipper))
