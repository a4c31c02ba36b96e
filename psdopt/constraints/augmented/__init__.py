"""The augmented Lagrangian as a problem: penalties, their curvature and preconditioner, the first multipliers."""
