"""One estimate for factors that objectives share (Section 5.3)."""
