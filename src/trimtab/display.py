"""What objects look like in a notebook: `plot.notebook` draws them, when one is looked at."""

from __future__ import annotations

from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type)


def displayed(kind: Kind) -> Kind:
    """The class, whose objects a notebook shows as a small table instead of a line."""

    def _repr_html_(self: Any) -> str:
        from trimtab.plot.notebook import html  # a room to the right, at its first use

        return html(self)

    setattr(kind, "_repr_html_", _repr_html_)  # noqa: B010  # classes have no such attribute yet
    return kind
