"""Which variant to use, by simulation: every variant played in worlds drawn from the prior."""

from trimtab.advise.advice import Advice, Row
from trimtab.advise.ranking import advise

__all__ = ["Advice", "Row", "advise"]
