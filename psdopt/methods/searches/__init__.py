"""Step length rules: exact on a line, exact on a plane, and Armijo backtracking."""
