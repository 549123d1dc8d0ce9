"""Settings that hold for every test."""

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


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker for system packages known, and watch over the children of this run."""
    system_packages.pytest_configure(config)
    orphans.pytest_configure(config)


# Machines are shared, so time per example means nothing; and a run that failed must fail again.
settings.register_profile("trimtab", deadline=None, derandomize=True)
settings.load_profile("trimtab")
