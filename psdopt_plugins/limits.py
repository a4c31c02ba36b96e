"""Numbers that several plugins share: limits of order, memory and steps, magnitudes, and those of the reports."""

from __future__ import annotations

from psdopt.linalg import EPS

#: Errors in units of rounding: an entry of S may be wrong by this number times n.
ROUNDINGS = 16.0
#: Half of the digits. An eigenvalue is accurate to rounding if its vector is accurate to this; a matrix that is damped
#: by this share of itself leaves half of the digits to a system with it.
ROOT_EPS = EPS**0.5
#: What is at most this share of another quantity is slight beside it: an error that does not matter for the next step,
#: a change that is none, an addition that only keeps a matrix regular.
SLIGHT = 0.1
#: What is below this share of the largest of its kind is minor.
MINOR = 1e-3
#: Up to the first order (n, n) arrays are formed whatever the data are, up to the second a spectrum is computed, about
#: 9 n³ flops, and up to the third a matrix is factorised, n³ / 3.
DENSE_ORDER, SPECTRUM_ORDER, FACTOR_ORDER = 500, 1500, 3000
#: Bytes that the arrays over all pairs of samples of a fit may take; at the largest such order its O(n³) takes an hour.
ALL_PAIRS = 2**33
#: Numbers in a block that stays in the cache of a core (256 KiB), and in a block of memory (8 MiB).
CACHED, BLOCK = 2**15, 2**20
#: Steps after which a loop ends that converges in far fewer: of Newton's method, stages, halvings.
MOST_STEPS = 60
#: Products with an operator after which an iteration of conjugate gradient ends.
MOST_PRODUCTS = 200
#: Share of the samples that a report tests on; of rows that are read in blocks it tests on TEST_ROWS.
TEST_SHARE, TEST_ROWS = 0.3, 2000
#: Parts of a cross-validation.
FOLDS = 5
#: Starts of k-means where its clusters are compared or improved afterwards.
KMEANS_STARTS = 5
#: Pairs from which percentiles of distances are estimated.
SAMPLES = 20_000
