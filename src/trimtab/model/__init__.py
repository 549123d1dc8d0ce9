"""What is tuned: a graph of objectives and knobs, a domain, a basis, and the problem they make."""
