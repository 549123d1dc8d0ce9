"""What the paper states and does not hold: counterexamples that run, and corrected statements."""

from trimtab.paper.errata.entries import ERRATA
from trimtab.paper.errata.entry import Erratum, Finding
from trimtab.paper.errata.page import check, write

__all__ = ["ERRATA", "Erratum", "Finding", "check", "write"]
