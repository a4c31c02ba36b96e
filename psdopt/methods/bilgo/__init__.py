"""BILGO: greedy atoms, local search, and the two in turns."""
