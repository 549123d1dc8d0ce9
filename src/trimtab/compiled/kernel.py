"""The decorators under which every kernel is compiled.

Kernels sit beside the concept they serve; this is only how they are built: by numba, with
NumPy's rules for division. What Python calls is cached on disk; what only other kernels call is
part of theirs. The decorators keep the kernel's own type, so that callers are checked as if it
were plain Python.
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

    docs/decisions/0010 has the figures.
    """
    options: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}
    return cast(F, numba.njit(**options)(kernel))


def inner(kernel: F) -> F:
    """A bare kernel that only other kernels call, which halves its compilation.

    It has no door for Python: a call from there is a crash, so a test looks for such calls.
    """
    options: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, numba.njit(**options)(kernel))
