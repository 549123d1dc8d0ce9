"""The decorators under which every kernel is compiled.

Kernels sit beside the concept they serve; this is only how they are built: by numba, with
NumPy's rules for division. What Python calls is cached on disk; what other kernels call is part
of theirs. So what is cached is out of date when any source has changed that kernels may use. The
decorators keep the kernel's own type, so that callers are checked as if it were plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import types
from numba.core.registry import CPUDispatcher

from trimtab.compiled.library import PartCompiler, WholeCompiler

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS: dict[str, Any] = {"nopython": True, "error_model": "numpy"}
BARE = OPTIONS | {"_nrt": False}
PACKAGE = Path(__file__).resolve().parents[1]
NO_KERNELS = ("cli", "live", "paper")  # the layers on top


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel as Python calls it; where another kernel calls it, its name stands for the part."""

    def __init__(self, kernel: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(kernel, targetoptions=options, pipeline_class=WholeCompiler)
        self.enable_caching()
        file = self._cache._cache_file  # numba itself looks at the kernel's own source only
        file._source_stamp = (file._source_stamp, sources())
        self.part = _part(kernel, options)

    @property
    def _numba_type_(self) -> types.Type:
        return types.Dispatcher(self.part)


@cache
def sources(package: Path = PACKAGE) -> bytes:
    """A digest of all sources that kernels may use."""
    digest = blake2b(digest_size=16)
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in NO_KERNELS:
            digest.update(path.read_bytes())
    return digest.digest()


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
