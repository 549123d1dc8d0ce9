"""Who may do what: tokens, roles, sessions of the page, and what is refused at the door."""
