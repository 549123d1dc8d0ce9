"""How kernels are built, and how they are given many arrays at once.

Kernels sit beside the concept they serve; here is only what they have in common.
"""

from trimtab.compiled.kernel import bare, compiled, inner
from trimtab.compiled.structure import Structure

__all__ = ["Structure", "bare", "compiled", "inner"]
