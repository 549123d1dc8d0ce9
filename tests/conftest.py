"""Settings that hold for every test."""

import os
import shutil
import tempfile

import pytest
from hypothesis import settings

from tests import orphans, system_packages
from tests.brief import brief  # noqa: F401 - a fixture
from tests.browser import chromium  # noqa: F401 - a fixture
from tests.postgres import journal_url, postgres, postgres_url  # noqa: F401 - fixtures
from tests.system_packages import (  # noqa: F401 - hooks
    pytest_collection_modifyitems,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)

MEMORY, ROOM = "/dev/shm", 4 * 2**30  # bytes that must be free there


def keep_in_memory() -> None:
    """Have temporary files in memory where there is room for them, unless TMPDIR says where.

    Stores are synced as ever. But a killed process cannot show whether a disk kept its word, and
    while a test waits for the disk its core does nothing.
    """
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK):
        programs = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
        if programs and shutil.disk_usage(MEMORY).free >= ROOM:
            os.environ["TMPDIR"] = tempfile.tempdir = MEMORY


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker for system packages known, and watch over the children of this run."""
    keep_in_memory()
    system_packages.pytest_configure(config)
    orphans.pytest_configure(config)


# Machines are shared, so time per example means nothing; and a run that failed must fail again.
settings.register_profile("trimtab", deadline=None, derandomize=True)
settings.load_profile("trimtab")
