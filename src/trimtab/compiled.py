"""The decorator under which every kernel is compiled.

Kernels sit beside the concept they serve; this is only how they are built: by
numba, cached on disk, with NumPy's rules for division. `compiled` keeps the
kernel's own type, so that callers are checked as if it were plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(kernel: F) -> F:
    """The kernel, compiled at its first call and cached next to its source."""
    return cast(F, numba.njit(cache=True, error_model="numpy")(kernel))


def bare(kernel: F) -> F:
    """A kernel that makes no arrays, compiled without counting references to those it is given.

    Structures of many arrays are then handed on at no cost: docs/decisions/0010.
    """
    options: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}
    return cast(F, numba.njit(**options)(kernel))
