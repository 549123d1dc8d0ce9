"""Proofs: lower bounds of what any state could reach."""
