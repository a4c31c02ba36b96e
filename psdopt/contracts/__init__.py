"""What the pieces promise each other: problem, geometry, method, their abilities, and M as a factor."""
