"""What multipliers prove of M under linear constraints: bound, gap, infeasibility, unboundedness."""
