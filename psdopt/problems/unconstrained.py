"""The minimiser of a quadratic SDP without M ⪰ 0, the source of the first block of atoms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from psdopt.contracts.gradient import dense_gradient
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import ITERATED_ORDER, SPECTRUM_ORDER
from psdopt.linalg.pencil import EigenBasis
from psdopt.linalg.subset import spectrum
from psdopt.linalg.tolerances import MINOR, ROOT_EPS
from psdopt.problems.term_sum import TermSum
from psdopt.terms.forms import Form
from psdopt.terms.quadratic import LinearTerm


def positive_part(
    A: Form | None, B: Form | None, C: Form | None, n: int, adopt: Callable[[EigenBasis], None]
) -> Array | None:
    """W (n, k) with W Wᵀ = N₊, N = V [−(VᵀCV)_ij / (a_i a_j + b)] Vᵀ, b = tr B / n, A = V diag(a) Vᵀ.

    If B = b I, N is the minimiser of F over all symmetric matrices; otherwise it is close to it. A positive
    semidefinite N solves the problem. Otherwise the positive part of N has nearly the right directions, weights and
    rank, which greedy steps from M = 0 would have to find one by one. If W has more than n/2 columns, it gets all n,
    the missing ones with small weights: additional columns cost little, and a missing one costs another search.

    None if C or N₊ is zero, or if forming A is too expensive: n > 300, unless A is an array and n <= 1500.
    `adopt` gets the complete decomposition of A if one is computed.
    O(n³): three eigendecompositions and four products at most. At most 2 n columns of the maps.
    """
    formed = n <= ITERATED_ORDER or (n <= SPECTRUM_ORDER and (A is None or A.holds_array))
    if C is None or not formed:
        return None
    b = 0.0 if B is None else B.full_trace() / n
    dense_C = _formed(C)
    if A is None:
        N = -dense_C / (b or 1.0)
    else:
        a, V = spectrum(_formed(A))
        basis = EigenBasis(a, V)
        adopt(basis)
        a, damping = basis.a, ROOT_EPS * basis.largest * basis.largest  # without B, a singular A has no inverse
        if not max(b, damping) > 0.0:
            return None
        N = V @ ((V.T @ dense_C @ V) / -np.maximum(np.outer(a, a) + b, damping)) @ V.T
    if not np.all(np.isfinite(N)):
        return None
    values, vectors = spectrum(0.5 * (N + N.T))
    positive = values > MINOR**2 * max(float(values[-1]), 0.0)
    if not np.any(positive):
        return None
    if 2 * np.sum(positive) > n:
        values = np.maximum(values, MINOR * float(np.median(values[positive])))
        positive[:] = True
    return np.asarray(vectors[:, positive] * np.sqrt(values[positive]))


def _formed(form: Form) -> Array:
    if form.holds_array:
        return form.to_dense()
    return dense_gradient(TermSum([LinearTerm(form)]).at(np.zeros((form.n, 0))))
