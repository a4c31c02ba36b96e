"""Arrays that are given to a problem: never changed, copied, and refused if masked, complex or sparse out of place.

Every builder of a problem, term, loss, measurement or constraint that holds arrays is a case: a function of the arrays
that makes a problem.
"""

import copy
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import psdopt
from psdopt import Constrained, EntryFit, QuadraticSDP, TermSum, constraints, terms
from psdopt.contracts.images import Images
from psdopt.errors import PsdoptError
from psdopt_plugins import (
    covariance,
    kernel_learning,
    manifold_learning,
    metric_learning,
    regression,
    relaxations,
    spectral,
)

RNG = np.random.default_rng(0)
N, M = 5, 12
X, Y = RNG.standard_normal((M, N)), RNG.standard_normal((M, 2))
SYMMETRIC = X.T @ X
LABELS, TARGETS, WEIGHTS = np.arange(M) % 2, 1.0 + RNG.random(M), 1.0 + RNG.random(M)
FIRST, SECOND, THIRD = np.arange(N), (np.arange(N) + 1) % N, (np.arange(N) + 2) % N
PAIRS = np.column_stack([np.arange(M), (np.arange(M) + 1) % M])
SIGNED = np.column_stack([PAIRS, np.where(LABELS, 1, -1)])
TRIPLETS = np.column_stack([np.arange(M), (np.arange(M) + 2) % M, (np.arange(M) + 1) % M])
SQUARES = ((X[:, None] - X) ** 2).sum(axis=2)
GRAPH = (np.median(SQUARES) > SQUARES).astype(float) - np.eye(M)
CORRELATION = SYMMETRIC / np.sqrt(np.outer(np.diag(SYMMETRIC), np.diag(SYMMETRIC)))


def measured(measurement: Any, loss: Any = None) -> TermSum:
    ones = terms.LeastSquares(np.ones(measurement.size))
    return TermSum([terms.MeasuredTerm(measurement, loss or ones)])


def with_loss(kind: Any) -> Any:
    return lambda **given: measured(terms.QuadraticForms(X), kind(**given))


def under(constraint: Any) -> Constrained:
    return Constrained(QuadraticSDP(B=1.0, n=constraint.n), constraint)


#: name -> (builder of a problem, its arrays)
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "QuadraticSDP": (QuadraticSDP, {"A": SYMMETRIC, "B": np.eye(N), "C": -SYMMETRIC}),
    "LinearTerm": (lambda C: TermSum([terms.LinearTerm(C)]), {"C": SYMMETRIC}),
    "GramForm": (lambda X, inner: QuadraticSDP(C=terms.GramForm(X, 1.0, inner)), {"X": X, "inner": Y}),
    "MatrixForm": (lambda A: QuadraticSDP(C=terms.MatrixForm(A)), {"A": SYMMETRIC}),
    "EntryFit": (lambda **a: EntryFit(**a),
        {"L": SYMMETRIC, "i": FIRST, "j": SECOND, "targets": TARGETS[:N], "weights": WEIGHTS[:N]}),
    "Entries": (lambda i, j: measured(terms.Entries(i, j, N)), {"i": FIRST, "j": SECOND}),
    "PairDistances": (lambda i, j, X: measured(terms.PairDistances(i, j, X)), {"i": FIRST, "j": SECOND, "X": X}),
    "QuadraticForms": (lambda X: measured(terms.QuadraticForms(X)), {"X": X}),
    "TripletDifferences": (lambda i, j, k, X: measured(terms.TripletDifferences(i, j, k, X)),
        {"i": FIRST, "j": SECOND, "k": THIRD, "X": X}),
    "LeastSquares": (with_loss(terms.LeastSquares), {"target": TARGETS, "weights": WEIGHTS}),
    "SquaredHinge": (with_loss(terms.SquaredHinge), {"margin": TARGETS, "sign": np.ones(M), "weights": WEIGHTS}),
    "HalfSquaredOneSided": (with_loss(terms.HalfSquaredOneSided),
        {"target": TARGETS, "direction": np.ones(M), "weights": WEIGHTS}),
    "Constraint": (lambda lower, upper: under(psdopt.Constraint(terms.Entries(FIRST, FIRST, N), lower, upper)),
        {"lower": np.zeros(N), "upper": np.ones(N)}),
    "diagonal": (lambda equals: under(constraints.diagonal(N, equals)), {"equals": np.ones(N)}),
    "distances": (lambda i, j, upper: under(constraints.distances(i, j, n=N, upper=upper)),
        {"i": FIRST, "j": SECOND, "upper": np.ones(N)}),
    "quadratic_forms": (lambda X, equals: under(constraints.quadratic_forms(X, equals)), {"X": X, "equals": TARGETS}),
    "sparse_forms": (lambda A, b: under(constraints.sparse_forms([A, np.eye(N)], b)),
        {"A": SYMMETRIC, "b": np.ones(2)}),
    "SparseForms": (lambda i, j, B: under(psdopt.Constraint(constraints.SparseForms(i, j, B, N), 0.0, 1.0)),
        {"i": FIRST, "j": SECOND, "B": np.ones((2, N))}),
    "kta": (lambda X, y, weights: metric_learning.kta_problem(X, y, 0.1, weights=weights),
            {"X": X, "y": LABELS, "weights": WEIGHTS}),
    "kta, trace": (lambda X, y: metric_learning.kta_problem(X, y, 0.1, "trace", gram=False), {"X": X, "y": LABELS}),
    "linearity": (lambda X, pairs: metric_learning.linearity_problem(X, pairs, 0.1), {"X": X, "pairs": SIGNED}),
    "lmnn": (lambda X, targets, triplets: metric_learning.lmnn_problem(X, targets, triplets, 0.5),
        {"X": X, "targets": PAIRS, "triplets": TRIPLETS}),
    "nca": (lambda X, y, candidates: metric_learning.nca_problem(X, y, candidates, 0.1),
        {"X": X, "y": LABELS, "candidates": (np.arange(M)[:, None] + np.arange(4)) % M}),
    "pair_distance": (lambda **given: metric_learning.pair_distance_problem(upper=1.0, lower=3.0, **given),
        {"X": X, "pairs": SIGNED, "weights": WEIGHTS}),
    "triplet_margin": (metric_learning.triplet_margin_problem, {"X": X, "triplets": TRIPLETS}),
    "psd_regression": (regression.psd_regression_problem, {"X": X, "y": TARGETS, "weights": WEIGHTS}),
    "psd_regression, pairs": (regression.psd_regression_problem,
        {"X": X, "y": TARGETS, "pairs": PAIRS, "direction": np.ones(M)}),
    "psd_regression, matrices": (regression.psd_regression_problem, {"X": X[:, :, None] * X[:, None], "y": TARGETS}),
    "quadratic_kernel": (lambda N, T: kernel_learning.quadratic_kernel_problem(N, T, 1.0, 1.0),
        {"N": SYMMETRIC, "T": CORRELATION}),
    "pairwise_kernel": (kernel_learning.pairwise_kernel_problem,
        {"L": np.diag(GRAPH.sum(axis=1)) - GRAPH, "pairs": PAIRS, "targets": np.where(LABELS, 1.0, 0.0)}),
    "distance_kernel": (lambda **given: kernel_learning.distance_kernel_problem(M, **given),
        {"pairs": PAIRS, "distances": TARGETS, "same": LABELS == 1}),
    "sstress": (manifold_learning.sstress_problem, {"delta": SQUARES}),
    "sstress, pairs": (lambda delta, pairs: manifold_learning.sstress_problem(delta, pairs, n=M),
        {"delta": TARGETS, "pairs": PAIRS}),
    "topk": (lambda K: spectral.topk_problem(K, 2), {"K": SYMMETRIC}),
    "maxcut": (relaxations.maxcut_problem, {"W": GRAPH}),
    "modularity": (relaxations.modularity_problem, {"W": GRAPH}),
    "covariance": (lambda S: covariance.covariance_problem(S, 0.1), {"S": CORRELATION}),
    "theta": (relaxations.theta_problem, {"graph": GRAPH}),
    "correlation": (relaxations.correlation_problem,
        {"G": CORRELATION + 0.1 * np.eye(N), "weights": np.ones((N, N))}),
    "sensors": (lambda pairs, distances, anchors: relaxations.sensor_problem(3, pairs, distances, anchors), {
        "pairs": np.array([[0, 1], [1, 2], [0, 3], [1, 4], [2, 5]]), "distances": TARGETS[:5],
        "anchors": np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
    }),
}  # fmt: skip
ARRAYS = [pytest.param(case, name, id=f"{case}-{name}") for case, (_, given) in CASES.items() for name in given]


def fresh(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value.copy() for name, value in given.items()}


def answer(problem: Any) -> list[Any]:
    """F, S Y and the constraints at a fixed Y, and the bound of M = Y Yᵀ."""
    columns = 2 if np.isfinite(problem.value_at_zero()) else problem.n  # a log det is of definite M
    factor = np.random.default_rng(1).standard_normal((problem.n, columns))
    evaluation = problem.at(factor)
    found = [evaluation.value, evaluation.gradient @ factor, psdopt.certify(problem, psdopt.LowRankPSD(factor)).gap]
    if isinstance(problem, Constrained):
        U = Images(problem.measurement.maps, factor)
        found += [problem.measurement.pair(U, U), problem.lower, problem.upper]
    return found


@pytest.mark.parametrize("case", CASES)
def test_arrays_are_copied_and_never_changed(case: str) -> None:
    build, given = CASES[case]
    expected = answer(build(**fresh(given)))
    mine = fresh(given)
    problem = build(**mine)
    answer(problem)
    for name, value in mine.items():
        np.testing.assert_array_equal(value, given[name])
        np.copyto(value, 3 if value.dtype != bool else True)
    for now, before in zip(answer(problem), expected, strict=True):
        np.testing.assert_array_equal(now, before)


@pytest.mark.parametrize(("case", "name"), ARRAYS)
def test_sparse_arrays_are_taken_unchanged_or_refused_in_our_words(case: str, name: str) -> None:
    build, given = CASES[case]
    dense = given[name]
    if dense.ndim != 2 or dense.dtype.kind != "f":
        with pytest.raises(PsdoptError):
            build(**{**fresh(given), name: sp.csr_array(np.atleast_2d(dense)) if dense.ndim < 3 else 0})
        return
    doubled = sp.csr_array(np.hstack([dense, dense]))  # each entry in two halves, in wrong order
    halves = sp.csr_array((0.5 * doubled.data, doubled.indices % dense.shape[1], doubled.indptr), shape=dense.shape)
    before = copy.deepcopy(halves)
    try:
        problem = build(**{**fresh(given), name: halves})
    except PsdoptError:
        return
    found = answer(problem)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(halves, part), getattr(before, part))
    halves.data[:] = 7.0
    for now, then in zip(answer(problem), found, strict=True):
        np.testing.assert_array_equal(now, then)
    for now, expected in zip(found[:1], answer(build(**fresh(given))), strict=False):
        np.testing.assert_allclose(now, expected, rtol=1e-9)


@pytest.mark.parametrize(("case", "name"), ARRAYS)
def test_masks_and_imaginary_parts_are_refused(case: str, name: str) -> None:
    build, given = CASES[case]
    hidden = np.ma.array(given[name], mask=np.zeros(given[name].shape, bool))
    build(**{**fresh(given), name: hidden})
    hidden[(0,) * hidden.ndim] = np.ma.masked
    with pytest.raises(PsdoptError, match="must have no masked entries; found 1"):
        build(**{**fresh(given), name: hidden})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (given[name] + 1j, sp.csr_array(given[name] + 1j) if given[name].ndim == 2 else None):
            if values is not None:
                with pytest.raises(PsdoptError):
                    build(**{**fresh(given), name: values})


#: (class, what it is fitted to)
ESTIMATORS: list[tuple[Any, tuple[Any, ...]]] = [
    *((kind, (X, LABELS)) for kind in (
        metric_learning.KTA, metric_learning.LMNN, metric_learning.Linearity, metric_learning.DistanceRegression,
        metric_learning.NCA, metric_learning.PSDBoost,
    )),
    (metric_learning.PairsClassifier, (X[PAIRS], np.where(LABELS, 1, -1))),
    (metric_learning.TripletsClassifier, (X[TRIPLETS],)),
    *((kind, (X, LABELS)) for kind in (
        kernel_learning.DistanceKernel, kernel_learning.PairwiseKernel, kernel_learning.QuadraticKernel,
    )),
    (manifold_learning.SSTRESS, (X,)), (manifold_learning.MaximumVarianceUnfolding, (X,)),
    (regression.PSDRegressor, (X, TARGETS)), (spectral.TopKEigen, (SYMMETRIC,)),
    (relaxations.MaxCut, (GRAPH,)), (relaxations.LovaszTheta, (GRAPH,)), (relaxations.CommunityDetection, (GRAPH,)),
    (relaxations.NearestCorrelation, (CORRELATION,)), (covariance.SparsePrecision, (X,)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "given"), ESTIMATORS, ids=[kind.__name__ for kind, _ in ESTIMATORS])
def test_estimators_refuse_masks_and_imaginary_parts(kind: Any, given: tuple[Any, ...]) -> None:
    for k, values in enumerate(given):
        hidden = np.ma.array(values)
        hidden[(0,) * hidden.ndim] = np.ma.masked
        with pytest.raises(PsdoptError, match="must have no masked entries; found 1"):
            kind().fit(*given[:k], hidden, *given[k + 1 :])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises((PsdoptError, ValueError), match=r"(?i)real|complex"):
                kind().fit(*given[:k], values + 1j, *given[k + 1 :])


@pytest.mark.parametrize("kind", [list, tuple])
def test_masks_of_rows_in_a_list_are_refused(kind: type) -> None:
    rows = np.ma.array(np.diag([3.0, -1.0]), mask=[[False, False], [False, True]])
    with pytest.raises(PsdoptError, match="C must have no masked entries; found 1"):
        QuadraticSDP(None, 1.0, kind(rows))
    assert QuadraticSDP(None, 1.0, kind(np.ma.array(np.eye(2)))).n == 2
