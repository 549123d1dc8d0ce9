"""Where metrics come from."""
