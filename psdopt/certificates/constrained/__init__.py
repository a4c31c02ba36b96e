"""What multipliers prove about M under linear constraints: bound, gap, infeasibility, unboundedness."""
