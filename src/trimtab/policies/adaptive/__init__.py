"""A policy that learns which objective reads which knob (Section 5.2)."""
