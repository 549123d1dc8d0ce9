"""`trimtab top`: a live terminal view of one tuner, or of all tuners in a store."""
