"""Augmented Lagrangian: its rounds, their state, its columns, and the search for a feasible M."""
