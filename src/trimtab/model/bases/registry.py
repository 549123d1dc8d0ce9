"""The one list of bases that a description can name."""

from __future__ import annotations

from trimtab.registry import Registry

BASES = Registry("basis", group="trimtab.bases")
register = BASES.register
