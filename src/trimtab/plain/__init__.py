"""Plain data from outside, described once: what it may hold, and what is wrong with it."""
