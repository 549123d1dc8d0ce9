"""Which criterion reads which knobs."""

from trimtab.graph.graph import Graph

__all__ = ["Graph"]
