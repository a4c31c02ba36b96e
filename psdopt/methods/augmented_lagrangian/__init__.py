"""Augmented Lagrangian: its rounds, their state, its columns, its start, and the search for a feasible M."""
