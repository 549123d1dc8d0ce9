"""The errors trimtab raises on purpose, as one small tree.

::

    TrimtabError
        InvalidInput     a value from outside is malformed (also a ValueError)   exit 2
        NotFound         no such tuner, run or decision                          exit 2
        Conflict         the decision told is not one that was asked             exit 1
        SolverFailed     no usable minimiser of the LCB                          exit 1

and two warnings::

    FiniteDifferences    a user's basis has no derivatives, and a solve needs them
    OptimumMissed        a simulated run found a better state than the one regret is counted against

A message says what was wrong, where, which value, and what to do about it. A
call that raises one of these has changed nothing.
"""

from __future__ import annotations


class TrimtabError(Exception):
    """Every error trimtab raises on purpose."""

    exit_code = 1


class InvalidInput(TrimtabError, ValueError):
    """A value that came from outside is malformed."""

    exit_code = 2


class NotFound(TrimtabError, LookupError):
    """Nothing goes by that name."""

    exit_code = 2


class Conflict(TrimtabError):
    """The call contradicts what has been recorded."""


class SolverFailed(TrimtabError):
    """No usable minimiser of the lower confidence bound was found."""


class FiniteDifferences(UserWarning):
    """A basis without a Jacobian is differentiated numerically."""


class OptimumMissed(UserWarning):
    """A state that was played is better than the optimum of its world."""
