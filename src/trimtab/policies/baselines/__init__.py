"""Policies to compare with: staying put, random states, perturbed leaders."""
