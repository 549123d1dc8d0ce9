"""Where values go."""
