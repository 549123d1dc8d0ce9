"""What can go wrong outside: each fault has a code for logs and metrics, and a sentence.

::

    TrimtabError
        OutsideFault
            SourceFault    metrics cannot be had now
            TargetFault    values could not be set, or cannot be read back
"""

from __future__ import annotations

from trimtab.errors import TrimtabError


class OutsideFault(TrimtabError):
    """Something outside did not work.

    Args:
        code: a word for it: timeout, unreachable, status, format, program, mismatch, ...
        text: what happened, where, and which value.
        permanent: whether the same attempt again cannot work either.
    """

    def __init__(self, code: str, text: str, *, permanent: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.permanent = permanent


class SourceFault(OutsideFault):
    """Metrics cannot be had now."""


class TargetFault(OutsideFault):
    """Values could not be set, or cannot be read back."""
