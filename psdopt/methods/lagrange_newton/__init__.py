"""Newton's method on Lagrange's conditions: for quadratic fits, and under linear constraints."""
