"""Real systems, tuned: arms that take turns on one machine, their table, picture and recordings."""
