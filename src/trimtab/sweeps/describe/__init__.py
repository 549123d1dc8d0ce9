"""How a sweep is described: plain settings, and the kinds of things that they name."""
