"""Policies and worlds by a function of one's own, where no description will do."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from trimtab.errors import InvalidInput
from trimtab.sweeps.describe.settings import Settings


def describe(function: Callable[..., Any], where: str) -> Settings:
    """The function's address and a digest of its source: what its runs are stored under.

    >>> from trimtab.sweeps.describe.graphs import ring
    >>> describe(ring, "worlds.mine")
    {'function': 'trimtab.sweeps.describe.graphs:ring', 'source': '...'}

    Raises:
        InvalidInput: it is not defined at the top of a module, where workers can find it.
    """
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not name or found is not function:
        raise InvalidInput(
            f"{where} is {function!r}; give a table with a kind, or a function defined at the top "
            "of a module"
        )
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):  # typed in by hand
        source = name
    return {
        "function": f"{module}:{name}",
        "source": hashlib.sha256(source.encode()).hexdigest(),
    }
