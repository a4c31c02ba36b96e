"""What is proven of a matrix: a lower bound on F, and the unit in which its gap counts."""
