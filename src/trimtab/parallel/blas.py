"""One thread for linear algebra while a run goes on.

With several, sums are added up in another order, and the last bits of a result would
depend on the machine's number of cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()
_runs = 0  # going on in this process now: a cluster may have several threads in one
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """The block within runs on one BLAS thread; afterwards all is as before."""
    global _runs, _limit  # noqa: PLW0603 - the setting is the process's, not ours
    with _lock:
        if _runs == 0:
            _limit = _libraries().limit(limits=1, user_api="blas")
        _runs += 1
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if _runs == 0:
                _limit.restore_original_limits()


@cache
def _libraries() -> Any:
    """The BLAS libraries that are loaded: NumPy's, and SciPy's."""
    import scipy.linalg  # noqa: F401 - loads its library, or it would be missed
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
