"""Docstrings for the documentation's site: examples are set as code."""

from __future__ import annotations

from typing import Any

import griffe

PROMPT = ">>> "


class Doctests(griffe.Extension):
    """Put every example of a docstring into a block of code."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Called for every object that has been read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    r"""The text with its examples fenced; they end with an empty line.

    >>> fenced("Sum.\n\n>>> 1 + 1\n2\n\nMore.")
    'Sum.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.'
    """
    lines, inside = list[str](), False
    for line in [*text.splitlines(), ""]:
        if line.startswith(PROMPT) and not inside:
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join(lines[:-1])
