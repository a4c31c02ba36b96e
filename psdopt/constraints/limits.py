"""What the methods and proofs under constraints can afford, and which errors are small: each number once."""

from __future__ import annotations

#: Order up to which a matrix is factorised densely, n³/3 flops, and up to which its spectrum is computed, about 9 n³.
FACTOR_ORDER, SPECTRUM_ORDER = 3000, 1500
#: Numbers that are written out at once, 320 MB of them.
NUMBERS = 4e7
#: Flops of a decomposition that may be of no use, and of one without which there is no step.
SPARED, FLOPS = 1e8, 4e9
#: A matrix with fewer entries than one in so many is multiplied faster by its entries.
SPARSE = 25.0
#: M is feasible at this relative violation where no tolerance is given.
FEASIBLE = 1e-6
#: A relative residual that changes no digit asked for, and a step too short to change one; what meets it is tried as
#: a proof.
NEGLIGIBLE = 1e-7
#: A step whose residual is not below this share of the least one so far has made no progress.
GAIN = 0.9
#: An error of at most this share of another is slight beside it.
SLIGHT = 0.1
#: While M is not feasible, multipliers so many times as large as at first, or as the objective, are tried as a proof
#: that no matrix is.
LARGE = 10.0
#: A system of Newton's method is solved to this share of the residual (Dembo, Eisenstat, Steihaug 1982).
FORCING = 0.1
