"""The one list of worlds: what a sweep can describe by the arguments of their generators."""

from __future__ import annotations

from trimtab.registry import Registry

WORLDS = Registry("world", group="trimtab.worlds")
register = WORLDS.register
