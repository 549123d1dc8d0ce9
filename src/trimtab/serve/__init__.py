"""`trimtab serve`: tuners over HTTP, for programs, for OpenFeature and for people."""
