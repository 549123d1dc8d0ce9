"""A policy with one estimate for factors that objectives share (Section 5.3)."""
