"""The journal: events in SQLite or PostgreSQL, their integrity, locks and sessions."""
