"""Which criterion reads which knobs."""

from trimtab.model.graph.graph import Graph

__all__ = ["Graph"]
