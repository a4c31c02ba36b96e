"""Limits of order, memory and steps that whole families of computations share, each number in one place.

None of them decides what is true. A limit of order chooses the cheaper of two ways to the same result, a block is a
piece of work that fits a memory, and a limit of steps ends a loop that rounding keeps from ending by itself.
"""

from __future__ import annotations

#: Up to this order all eigenvalues of a matrix cost no more than the calls of a few products with it.
SMALL_ORDER = 64
#: Up to this order decompositions are cheaper than iterations with products.
ITERATED_ORDER = 300
#: Up to this order a spectrum is computed, about 9 n³ flops, and up to FACTOR_ORDER a matrix is factorised, n³ / 3.
SPECTRUM_ORDER, FACTOR_ORDER = 1500, 3000
#: Numbers in a block that stays in the cache of a core (256 KiB), and in a block of memory (8 MiB).
CACHED, BLOCK = 2**15, 2**20
#: Rounds in which a computation settles: refinement of a solution, inverse iteration, steps between two tests.
ROUNDS = 3
#: Steps after which a loop ends that converges in far fewer: of Newton's method or of Lanczos's, rounds, halvings.
MOST_STEPS = 60
#: Products with an operator, or cuts, after which an iteration ends that converges by a constant factor a step.
MOST_PRODUCTS = 200
#: Vectors, random or of a Krylov space, by which the size of an operator or of a sample is estimated to some ten per
#: cent.
PROBES = 16
