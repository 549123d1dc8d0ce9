"""Campaigns against the journal: flipped bits, swapped pages, interrupts, kills."""
