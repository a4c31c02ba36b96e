"""Problems and methods on arrays of other libraries, and what is compared with NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from psdopt import LBFGS, BlockConjugateGradient, ConjugateGradient, Method, Problem, QuadraticSDP, TermSum, certify
from psdopt.devices import on_host
from psdopt.linalg import linear_map
from psdopt.terms import LinearTerm, MeasuredTerm, PairDistances, ProductTerm, TripletDifferences
from psdopt.terms.forms import GramForm, IdentityForm, MatrixForm
from psdopt.terms.losses import HalfSquaredOneSided, LeastSquares, Linear, SquaredHinge
from psdopt.terms.measurements import Entries, QuadraticForms
from psdopt_plugins.metric_learning import kta_problem, pair_distance_problem
from tests.devices.libraries import LIBRARIES, fetched, is_of, sent

Place = Callable[[Any], Any]
N, R = 14, 3
rng = np.random.default_rng(5)
X, L = rng.standard_normal((40, N)), np.eye(3)[rng.integers(3, size=40)]


def definite(n: int, k: int) -> Any:
    half = rng.standard_normal((n, k))
    return half @ half.T / k


A, B, C = definite(N, 20), definite(N, 16), -definite(N, 6)


def with_matrices(at: Place) -> Problem:
    return QuadraticSDP(MatrixForm(at(A), psd=True), MatrixForm(at(B), psd=True), at(C))


def with_gram_forms(at: Place) -> Problem:
    data = linear_map(at(X), "X")
    return QuadraticSDP(GramForm(data, 0.3), 1.0, [GramForm(data, -0.1, L), IdentityForm(N, 0.2)])


def with_terms(at: Place) -> Problem:
    K = MatrixForm(at(A), psd=True)
    return TermSum([ProductTerm(K, IdentityForm(N)), LinearTerm(at(C), 0.5)], 2.0)


def closest(at: Place) -> Problem:
    """|M − K|² for a K of both signs, as in the leading eigenpairs."""
    return QuadraticSDP(None, 1.0, at(C + 0.5 * np.eye(N)))


FIRST, SECOND, THIRD = rng.integers(0, 13, size=60), rng.integers(13, 26, size=60), rng.integers(26, 40, size=60)
T = np.abs(rng.standard_normal(60)) + 1.0


def measured(measurement: Any, loss: Any) -> Problem:
    n = measurement.n
    terms = [MeasuredTerm(measurement, loss, 1.0 / measurement.size), LinearTerm(IdentityForm(n), 0.01)]
    return TermSum(terms, preconditioner=None)  # on the host there would be one


def quadratic_forms(at: Place) -> Problem:
    return measured(QuadraticForms(at(X)), HalfSquaredOneSided(T[:40], np.sign(X[:, 0]) * (X[:, 1] > 0.0)))


def pair_distances(at: Place) -> Problem:
    return measured(PairDistances(FIRST, SECOND, at(X)), LeastSquares(T, 1.0 / T))


def hinged_pairs(at: Place) -> Problem:
    """With every array handed in on the device."""
    sign, weights = np.where(X[FIRST, 0] > 0.0, 1.0, -1.0), np.arange(60.0)
    return measured(PairDistances(at(FIRST), at(SECOND), at(X)), SquaredHinge(at(T), at(sign), at(weights)))


def triplets(at: Place) -> Problem:
    return measured(TripletDifferences(FIRST, SECOND, THIRD, at(X)), SquaredHinge(1.0))


def entries(at: Place) -> Problem:
    i, j = np.triu_indices(N)
    return measured(Entries(at(i[::3]), at(j[::3]), N), LeastSquares(C[i[::3], j[::3]] + 0.1))


def entry_distances(at: Place) -> Problem:
    """Distances within M itself, of order n, whose indices say where it is; one loss is linear."""
    i, j = np.triu_indices(N, 1)
    distances = PairDistances(at(i), at(j), n=N)
    return TermSum([
        MeasuredTerm(distances, HalfSquaredOneSided(2.0), 0.1),
        MeasuredTerm(Entries(i[:5], j[:5], N), Linear(0.3)),
        MeasuredTerm(Entries(i[:5], j[:5], N), Linear(np.arange(5.0)), 0.01),
    ])  # fmt: skip


def alignment(at: Place) -> Problem:
    return kta_problem(at(X), L @ np.arange(3.0), 0.01, gram=False, weights=T[:40])


def wide_alignment(at: Place) -> Problem:
    """Of an order at which the leading part of the spectrum is the preconditioner's."""
    own = np.random.default_rng(8)
    return kta_problem(at(own.standard_normal((90, 70))), own.integers(3, size=90), 1e-6, gram=False)


def learned_pairs(at: Place) -> Problem:
    """Thresholds from percentiles of distances."""
    return pair_distance_problem(at(X), (np.stack([FIRST, SECOND], axis=1), np.stack([SECOND, THIRD], axis=1)))


APPLIED = (alignment, learned_pairs)
MEASURED = (quadratic_forms, pair_distances, hinged_pairs, triplets, entries, entry_distances)
QUADRATIC = (with_matrices, with_gram_forms, with_terms, closest)
PROBLEMS = {build.__name__: build for build in (*QUADRATIC, *MEASURED, *APPLIED)}
METHODS: dict[str, Method] = {
    "conjugate gradient": ConjugateGradient(),
    "gram": ConjugateGradient(preconditioner="gram", update="HS"),
    "diagonal": ConjugateGradient(preconditioner="diagonal"),
    "unscaled": ConjugateGradient(preconditioner="none"),
    "LBFGS": LBFGS(memory=4),
    "block": BlockConjugateGradient(),
}
libraries = pytest.mark.parametrize("library", LIBRARIES)


def at(library: str) -> Place:
    return lambda array: sent(library, array)


def here(array: Any) -> Any:
    return array


def close(found: Any, expected: Any, rtol: float = 1e-9) -> None:
    expected = np.asarray(expected)
    scale = float(np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(np.asarray(on_host(found)), expected, rtol=rtol, atol=rtol * scale)


def same_certificate(there: Problem, known: Problem, Y: Any, library: str, tol: float) -> None:
    """That of M = Y Yᵀ, Y of the library, is the same wherever the arrays are."""
    # beyond order 500 nothing is gathered on the host for a spectrum, so that only proofs by products are compared
    one, other = certify(there, Y, tol=tol, proof="needed"), certify(known, fetched(Y), tol=tol, proof="needed")
    assert one.proof == other.proof
    assert one.proves(tol) == other.proves(tol)
    assert is_of(library, one.eigenvector)
    scale = max(abs(other.value), other.unit)
    # a bound by products has the residual of an eigenpair in it, which is rounding: tr M times that is in the gap
    allowed = 1e-11 * scale + other.trace * abs(one.dual_infeasibility - other.dual_infeasibility)
    for field in ("value", "value_at_zero", "unit", "complementarity", "gap", "trace"):
        wanted, least = getattr(other, field), allowed if field == "gap" else 1e-11 * scale
        assert getattr(one, field) == (None if wanted is None else pytest.approx(wanted, rel=1e-9, abs=least))
    for field in ("smallest_eigenvalue", "lower_bound", "dual_infeasibility", "stationarity"):
        assert getattr(one, field) == pytest.approx(getattr(other, field), rel=1e-6, abs=1e-10 * scale)
