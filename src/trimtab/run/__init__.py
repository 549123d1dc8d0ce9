"""`trimtab run`: the loop as a program. It pulls metrics, decides, and pushes values."""
