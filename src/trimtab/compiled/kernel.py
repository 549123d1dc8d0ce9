"""The decorators under which every kernel is compiled.

Kernels sit beside the concept they serve; this is only how they are built: by numba, with
NumPy's rules for division. What Python calls is cached on disk; what other kernels call is part
of theirs. The decorators keep the kernel's own type, so that callers are checked as if it
were plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import types
from numba.core.registry import CPUDispatcher

from trimtab.compiled.library import PartCompiler, WholeCompiler

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS: dict[str, Any] = {"nopython": True, "error_model": "numpy"}
BARE = OPTIONS | {"_nrt": False}


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel as Python calls it; where another kernel calls it, its name stands for the part."""

    def __init__(self, kernel: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(kernel, targetoptions=options, pipeline_class=WholeCompiler)
        self.enable_caching()
        self.part = _part(kernel, options)

    @property
    def _numba_type_(self) -> types.Type:
        return types.Dispatcher(self.part)


def _part(kernel: Callable[..., Any], options: dict[str, Any]) -> Any:
    return CPUDispatcher(kernel, targetoptions=options, pipeline_class=PartCompiler)


def compiled(kernel: F) -> F:
    """The kernel, compiled at its first call and cached next to its source."""
    return cast(F, Kernel(kernel, OPTIONS))


def bare(kernel: F) -> F:
    """A kernel that makes no arrays, compiled without counting references to those it is given.

    docs/decisions/0010 has the figures.
    """
    return cast(F, Kernel(kernel, BARE))


def inner(kernel: F) -> F:
    """A bare kernel that only other kernels call."""
    return cast(F, _part(kernel, BARE))
