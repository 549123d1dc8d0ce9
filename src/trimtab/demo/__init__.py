"""`trimtab demo`: a live tuner and its rivals on a simulated recommender, in a minute."""
