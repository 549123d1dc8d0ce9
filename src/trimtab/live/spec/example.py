"""The commented spec that `trimtab init` writes."""

from __future__ import annotations

from importlib.resources import files


def example() -> str:
    """The text of a small, valid spec that explains every section.

    >>> from trimtab.live import Spec
    >>> Spec.parse(example()).name
    'search'
    """
    return files("trimtab.live.spec").joinpath("example.toml").read_text(encoding="utf-8")
