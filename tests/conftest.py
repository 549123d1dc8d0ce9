"""Settings that hold for every test."""

from hypothesis import settings

from tests.browser import chromium  # noqa: F401 - a fixture
from tests.postgres import journal_url, postgres, postgres_url  # noqa: F401 - fixtures
from tests.system_packages import (  # noqa: F401 - hooks
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)

# Machines are shared, so time per example means nothing; and a run that failed must fail again.
settings.register_profile("trimtab", deadline=None, derandomize=True)
settings.load_profile("trimtab")
