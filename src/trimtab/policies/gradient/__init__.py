"""Policies that are told gradients (Section 6)."""
