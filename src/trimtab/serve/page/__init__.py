"""The dashboard: pages for operators, rendered here and kept up to date by one small script."""
