"""Limits of work and of errors for the methods and proofs under constraints, each number in one place."""

from __future__ import annotations

#: Limit of the numbers in one array, 320 MB, and of what counts them in a file.
NUMBERS = 40_000_000
#: Limits of flops: for a decomposition that may prove useless, and for one that a step needs.
SPARED, FLOPS = 1e8, 4e9
#: A matrix with less than one nonzero entry in this many is multiplied faster as a sparse array, and if fewer of the
#: entries of a matrix are asked for, they are gathered one by one.
SPARSE = 25.0
#: How many times fewer flops a step over cliques takes, at least, where a program is split: more calls, and equations
#: that are degenerate at solutions of low rank, cost the rest (thetaG11 with 2.4 times fewer takes 1.2 times as long).
SPLIT = 4.0
#: Default violation, relative to the scale of each constraint, up to which M is feasible.
FEASIBLE = 1e-6
#: A sum below this many eps times the sum of the sizes of its terms is zero, such as an entry of A*(y) or F(M) − F(0).
CANCELLED = 64.0
#: Relative residuals or step lengths below this change no digit of the answer; the iterate is then tested as a proof.
#: If A*(y) = 0 only up to rounding, an exact y' with A*(y') = 0 is as near to y as the conditioning of the A_t allows.
#: Then, and if a face was computed, σ(y) < 0 is a proof only if |σ(y)| exceeds this share of |y| |b|, for |A_t| = 1.
NEGLIGIBLE = 1e-7
#: A step makes progress if its residual is below this share of the least one so far.
GAIN = 0.9
#: While M is infeasible, multipliers are tested as a proof that no matrix is feasible once they are this many times
#: larger than at first, or than the objective; an elimination ends once it has changed this many times its entries.
LARGE = 10.0
