"""Primal-dual methods on the standard form, and their common state."""
