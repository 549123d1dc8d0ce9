"""Who is told what: notices in the journal, and webhooks that get them."""
