"""What can be proven of a matrix: a lower bound on F, and the unit in which the gap is measured."""
