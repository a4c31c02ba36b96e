"""A linear F under constraints in standard form, and the Newton systems of its central path."""
