# ruff: noqa: E501 (tables of exact texts)
"""QuadraticSDP: operands of every kind, closed forms, planted optima, bad input, memory, the preconditioner."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt import Ability, ConjugateGradient, FlatQuotient, QuadraticSDP, Status, certify, solve
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.operators import LinearMap, symmetric_map
from psdopt.linalg.tolerances import EPS
from psdopt.problems import quadratic_preconditioner
from psdopt.problems import quadratic_sdp as source
from psdopt.problems.quadratic_preconditioner import QuadraticPreconditioner
from psdopt.terms.forms import GramForm, IdentityForm, MatrixForm, SumForm
from psdopt.testing.gallery import with_spectrum
from tests.instances import psd
from tests.problems.quadratics import N, data


def value(A, B, C, M):
    AM = A @ M
    return float(np.sum(AM * AM.T) + np.sum(B * (M @ M)) + 2 * np.sum(C * M))


def test_every_kind_of_operand_gives_the_same_value():
    rng, A, B, C = data()
    Y = rng.standard_normal((N, 3))
    expected, M = value(A, B, C, Y @ Y.T), Y @ Y.T
    X = np.linalg.cholesky(A).T
    kinds_of_a = [
        A, A.tolist(), sp.csr_array(A), sp.csc_matrix(A), aslinearoperator(A), MatrixForm(symmetric_map(A, "A")),
        GramForm(LinearMap(X)), [GramForm(LinearMap(X), 0.25), MatrixForm(symmetric_map(0.75 * A, "A"))],
        SumForm([GramForm(LinearMap(X / 2), 4.0)]),
    ]  # fmt: skip
    for operand in kinds_of_a:
        assert QuadraticSDP(operand, B, C).at(Y).value == pytest.approx(expected, rel=1e3 * N * EPS)
    E, zero = np.eye(N), np.zeros((N, N))
    for problem, by_hand in (
        (QuadraticSDP(2.0, 3.0, C), value(2 * E, 3 * E, C, M)), (QuadraticSDP(A, None, 0.5), value(A, zero, 0.5 * E, M)),
        (QuadraticSDP(None, B), value(zero, B, zero, M)),
        (QuadraticSDP(0.0, 1.0, -1.0, n=N, constant=2.0), value(zero, E, -E, M) + 2.0),
    ):  # fmt: skip
        assert problem.at(Y).value == pytest.approx(by_hand, rel=1e3 * EPS)
    assert QuadraticSDP(np.float64(2), 1, n=4).n == 4


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({}, InvalidInputError, "A, B and C are all None; give at least one"),
        ({"C": 1.0}, InvalidInputError, "n is needed when A, B and C are scalars or None"),
        ({"A": 0.0, "n": 3}, InvalidInputError, "A, B and C are all zero; give at least one that is not"),
        ({"A": np.eye(3), "C": np.eye(4)}, InvalidInputError, "A, B and C must share one order n; found A: 3, C: 4"),
        ({"A": np.eye(3), "n": 4}, InvalidInputError, "A, B and C must share one order n; found A: 3, n: 4"),
        ({"A": np.eye(3), "n": 0}, InvalidInputError, "n must be None or an integer of at least 1; found 0"),
        ({"A": 1.0, "n": 2.5}, InvalidInputError, "n must be None or an integer of at least 1; found 2.5"),
        ({"A": np.diag([1.0, -1.0])}, InvalidInputError,
         "A must be positive semidefinite; found smallest eigenvalue -1 against the largest 1"),
        ({"B": sp.diags_array([2.0, -1e-3])}, InvalidInputError, "B must be positive semidefinite; found smallest eigenvalue -0.001"),
        ({"B": -1.0, "n": 2}, InvalidInputError, "B must be positive semidefinite; found the scalar -1 < 0"),
        ({"A": [MatrixForm(LinearMap(-np.eye(2))), IdentityForm(2, 0.5)]}, InvalidInputError,
         "A must be positive semidefinite; found smallest eigenvalue -0.5"),
        ({"B": GramForm(LinearMap(np.eye(2)), -1.0)}, InvalidInputError, "B must be positive semidefinite; found"),
        ({"A": np.array([[0.0, 1.0], [0.0, 0.0]])}, InvalidInputError, r"A must be symmetric; found max \|A - Aᵀ\| = 1"),
        ({"A": np.ones((2, 3))}, InvalidInputError, r"A must be square and symmetric; found shape \(2, 3\)"),
        ({"C": np.array([[np.nan]])}, InvalidInputError, "C must be finite; found 1 NaN or infinite entries"),
        ({"C": float("nan"), "n": 2}, InvalidInputError, "C must be a finite number; found nan"),
        ({"C": np.eye(2), "constant": np.inf}, InvalidInputError, "constant must be a finite number; found inf"),
        ({"A": 1j, "n": 2}, InvalidTypeError, "A must be a matrix, an operator, a form, a number or None; found complex"),
        ({"A": object()}, InvalidTypeError, "A must be a matrix, an operator, a form, a number or None; found object"),
        ({"A": np.array(2.0)}, InvalidTypeError, "A must be a matrix, an operator, a form, a number or None; found ndarray"),
        ({"C": [IdentityForm(2), IdentityForm(3)]}, InvalidInputError, r"parts of a sum must share one order n; found \[2, 3\]"),
        ({"C": np.eye(2) * 1j}, InvalidTypeError, "C must hold real numbers; found dtype complex128"),
        ({"C": [[1.0, 2.0], [3.0]]}, InvalidTypeError, "C must be a matrix; found list: "),
    ],
)  # fmt: skip
def test_bad_input(arguments, kind, text):
    with pytest.raises(kind, match=text):
        QuadraticSDP(**arguments)


@pytest.mark.parametrize("rank", [1, 3, N])
@pytest.mark.parametrize("seed", [0, 1])
def test_planted_optimum_certifies_itself(rank, seed):
    """S M = 0, S ⪰ 0 by construction: the certificate accepts M*, and rejects it after a small move."""
    rng, A, B, _ = data(seed)
    Q = np.linalg.qr(rng.standard_normal((N, N)))[0]
    Y = Q[:, :rank] * np.linspace(1.5, 0.5, rank)
    M, S = Y @ Y.T, (Q[:, rank:] * np.linspace(0.5, 1.0, N - rank)) @ Q[:, rank:].T
    C = 0.5 * (S - 2 * A @ M @ A - B @ M - M @ B)
    problem = QuadraticSDP(A, B, 0.5 * (C + C.T))
    q = np.sum((A @ M) * (A @ M).T) + np.sum(B * (M @ M))
    assert problem.at(Y).value == pytest.approx(-q, rel=1e4 * EPS)
    tol = 1e5 * EPS
    assert certify(problem, Y).proves(tol)
    assert not certify(problem, 1.01 * Y).proves(1e-4)
    assert not certify(problem, Y + 0.01 * rng.standard_normal(Y.shape)).proves(1e-5)
    assert solve(problem, FlatQuotient(N, rank), start=Y, tol=1e-9).iterations <= 1


def test_no_array_of_order_n_squared_with_a_sparse_operand():
    """Order 20,000: an (n, n) array would take 3.2 GB; a run takes some (n, r) blocks."""
    n, r = 20_000, 3
    off = np.full(n - 1, -0.1)
    path = sp.diags_array([np.full(n, 2.0), off, off], offsets=[0, 1, -1])
    diagonal = np.full(n, 1.0)
    diagonal[:3] = -3.0, -2.0, -1.0
    C = sp.diags_array(diagonal)
    tracemalloc.start()
    problem = QuadraticSDP(path, None, C)
    result = solve(problem, FlatQuotient(n, r), ConjugateGradient(), max_iterations=3, tol=1e-2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.iterations >= 1
    assert peak < 600 * 8 * n


def test_with_a_rank_limit_only_the_two_pure_cases_have_a_closed_form():
    """With A and B the minimiser of less rank is none of the unlimited one's parts: the answer is None, not that one."""
    A, C = np.diag([1.0, 2.0, 3.0]), -np.eye(3)
    both = QuadraticSDP(A, 0.5, C)
    assert both.solve_in_closed_form() is not None
    assert both.solve_in_closed_form(rank=3) is not None
    assert both.solve_in_closed_form(rank=2) is None
    assert QuadraticSDP(A, None, C).solve_in_closed_form(rank=2).rank == 2
    assert QuadraticSDP(None, 0.5, C).solve_in_closed_form(rank=2).rank == 2


@pytest.mark.parametrize(
    ("A", "B", "C", "expected"),
    [
        (None, 0.5, True, True), (None, IdentityForm(3, 0.5), True, True), ("matrix", None, True, True),
        ("matrix", 0.5, True, True), ("matrix", "matrix", True, False), (None, "matrix", True, False),
        ("matrix", None, False, False), (None, 0.5, False, False),
        (None, IdentityForm(3, 0.0), True, False), ("matrix", IdentityForm(3, 0.0), True, True),
    ],
)  # fmt: skip
def test_which_problems_have_a_closed_form(A, B, C, expected, monkeypatch):
    given = {"matrix": np.diag([1.0, 2.0, 3.0])}
    A, B = (given["matrix"] if isinstance(form, str) else form for form in (A, B))
    C = -np.eye(3) if C else None
    problem = QuadraticSDP(A, B, C, n=3)
    assert (Ability.CLOSED_FORM in problem.abilities) is expected
    assert (problem.solve_in_closed_form() is not None) is expected
    monkeypatch.setattr(source, "FACTOR_ORDER", 3)
    assert (Ability.CLOSED_FORM in QuadraticSDP(A, B, C, n=3).abilities) is expected
    monkeypatch.setattr(source, "FACTOR_ORDER", 2)
    assert Ability.CLOSED_FORM not in QuadraticSDP(A, B, C, n=3).abilities


def test_where_the_rank_is_not_limited_a_run_starts_at_a_multiple_of_i():
    rng, starts = np.random.default_rng(0), QuadraticSDP(np.diag([1.0, 2.0, 3.0]), 0.5, -np.eye(3)).starts
    square, narrow, turn = rng.standard_normal((3, 3)), rng.standard_normal((3, 2)), np.linalg.qr(rng.random((3, 3)))[0]
    proposed = starts.proposed_start(square)
    np.testing.assert_allclose(proposed @ proposed.T, np.eye(3), atol=64 * EPS)
    np.testing.assert_allclose(starts.proposed_start(square @ turn), proposed @ turn, atol=1e-12)
    assert starts.proposed_start(narrow) is narrow
    assert QuadraticSDP(None, 0.5, -np.eye(3)).starts.proposed_start(square) is square


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("rank", [3, 6])
def test_the_closed_form_of_a_congruence_and_of_an_interior_minimum(rank, ridge, scale):
    """A singular minimum has eigenvalues of rounding, of both signs and of any size: they are cut."""
    rng = np.random.default_rng(4)
    A, P = psd(rng, 6) + 0.5 * np.eye(6), scale * psd(rng, 6, rank)
    C = -(A @ P @ A) - ridge * P  # the minimum over symmetric matrices is P
    B = IdentityForm(6, ridge) if ridge else None
    found = QuadraticSDP(A, B=B, C=C).solve_in_closed_form()
    np.testing.assert_allclose(found.to_dense(), P, rtol=0, atol=1e-9 * scale)
    if ridge and rank < 6:  # now the minimum has eigenvalues that are negative beyond rounding
        assert QuadraticSDP(A, B=B, C=C + 1e-3 * scale * A @ A).solve_in_closed_form() is None


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_what_is_singular_is_so_in_any_unit(scale):
    C = -np.eye(3)
    assert QuadraticSDP(scale * np.diag([1.0, 0.5, 0.0]), C=C).solve_in_closed_form() is None
    found = QuadraticSDP(scale * np.diag([1.0, 0.5, 1e-3]), C=C).solve_in_closed_form()
    np.testing.assert_allclose(found.to_dense(), np.diag([1.0, 4.0, 1e6]) / scale**2, rtol=1e-9)


@pytest.mark.parametrize("n", [2, 30])
def test_one_eigenvalue_of_the_interior_minimum_decides(n):
    """N = −C / (1 + b): negative by n eps it is singular, and by 1e-6 it is no answer."""
    for least, answered in ((-n * EPS, True), (-1e-6, False)):
        N_values = np.linspace(1.0, 2.0, n)
        N_values[0] = 2.0 * least
        found = QuadraticSDP(np.eye(n), 1.0, -2.0 * np.diag(N_values)).solve_in_closed_form()
        assert (found is not None) is answered
        if answered:
            np.testing.assert_allclose(found.to_dense(), np.diag(np.maximum(N_values, 0.0)), atol=1e-12)


ORDER, R = 8, 3


def drawn(**parts):
    rng = np.random.default_rng(0)
    given = {"A": psd(rng, ORDER, ORDER), "B": 0.5, "C": with_spectrum(np.linspace(-2.0, 1.0, ORDER), 1), **parts}
    return QuadraticSDP(**given), rng.standard_normal((ORDER, R)), rng


def test_the_decomposition_is_made_once_and_leading_pairs_agree(monkeypatch):
    p, Y, rng = drawn()
    full = p.at(Y).preconditioner()
    assert isinstance(p.curvature, QuadraticPreconditioner)
    basis = p.curvature.basis
    assert p.curvature.basis is basis
    monkeypatch.setattr(quadratic_preconditioner, "SPECTRUM_ORDER", ORDER - 1)
    other, _, _ = drawn()
    G = rng.standard_normal((ORDER, R))
    leading = other.at(Y).preconditioner()(G)
    np.testing.assert_allclose(leading, full(G), rtol=0, atol=1e-6 * np.abs(leading).max())


def test_a_gradient_of_positive_trace_damps():
    """S is large and positive far beyond the optimum: there the step is shorter than without C."""
    heavy, Y, rng = drawn(C=50.0 * np.eye(ORDER))
    light, _, _ = drawn(C=-50.0 * np.eye(ORDER))
    G = rng.standard_normal((ORDER, R))
    sizes = [np.linalg.norm(p.at(1e-2 * Y).preconditioner()(G)) for p in (heavy, light)]
    assert sizes[0] < 0.5 * sizes[1]


def test_it_saves_most_steps_where_a_is_badly_conditioned():
    p = QuadraticSDP(np.diag(10.0 ** np.linspace(0, 3, ORDER)), 1e-2, with_spectrum(np.linspace(-2.0, 1.0, ORDER), 1))
    steps = {
        kind: solve(p, FlatQuotient(ORDER, ORDER), ConjugateGradient(preconditioner=kind), rng=0, tol=1e-7).iterations
        for kind in ("problem", "gram")
    }
    assert 2 * steps["problem"] <= steps["gram"]


@pytest.mark.parametrize("kind", ["A", "number", "no A"])
@pytest.mark.parametrize("ridge", [None, 0.6, "matrix"])
@pytest.mark.parametrize("push", [2.0, 0.0, -50.0])
def test_it_is_the_inverse_of_the_pencil_by_hand(kind, ridge, push):
    """A D (YᵀAY) + D (b YᵀY + eta I), b = tr B / n, eta = 1.01 max(0, |A Y|² + b |Y|² + tr C) / n, S Y = 0.

    C = K − A M A − ½ (B M + M B) with K Y = 0, so that S = 2 K.
    """
    rng = np.random.default_rng(5)
    Y = rng.standard_normal((ORDER, R))
    A = {
        "A": psd(rng, ORDER, ORDER) + 0.1 * np.eye(ORDER),
        "number": 1.5 * np.eye(ORDER),
        "no A": np.zeros((ORDER, ORDER)),
    }[kind]
    B = psd(rng, ORDER, ORDER) if ridge == "matrix" else (ridge or 0.0) * np.eye(ORDER)
    M, outside = Y @ Y.T, np.eye(ORDER) - Y @ np.linalg.pinv(Y)
    C = push * outside - A @ M @ A - 0.5 * (B @ M + M @ B)
    given = {"A": A, "number": 1.5, "no A": None}[kind]
    problem = QuadraticSDP(given, B if ridge == "matrix" else ridge, 0.5 * (C + C.T))
    b = np.trace(B) / ORDER
    eta = 1.01 * max(0.0, np.sum((A @ Y) ** 2) + b * np.sum(Y * Y) + np.trace(C)) / ORDER
    D = rng.standard_normal((ORDER, R))
    here = problem.at(Y)
    for inverse, seen in ((here.preconditioner(), A), (here.diagonal_preconditioner(), np.diag(np.diag(A)))):
        if not (eta > 0.0 or b > 0.0 or kind != "no A"):
            continue
        G = seen @ D @ (Y.T @ A @ Y) + D @ (b * Y.T @ Y + eta * np.eye(R))
        np.testing.assert_allclose(inverse(G), D, rtol=0, atol=1e-6 * np.abs(D).max())


def test_the_rounding_that_features_accumulate_leaves_it_definite():
    """Features may be off by 4,096 roundings of tr M before they are computed afresh; Y has one column that M needs."""
    rng = np.random.default_rng(7)
    n, r = 60, 50
    problem = QuadraticSDP(psd(rng, n, n), 0.5, -np.eye(n))
    Y = np.outer(rng.standard_normal(n), rng.standard_normal(r))
    here = problem.at(Y)
    E = rng.standard_normal((r, r))
    E = (E + E.T) * (4096 * EPS * np.sum(Y * Y) / np.linalg.norm(E + E.T, 2))
    for term in (problem.curvature.product, problem.curvature.ridge):
        here.feature_of(term)[1][...] += E
    assert np.linalg.eigvalsh(here.feature_of(problem.curvature.ridge)[1])[0] < 0.0
    solve_with, G = here.preconditioner(), rng.standard_normal((2, n, r))
    first, second = map(solve_with, G)
    assert np.sum(G[0] * first) > 0.0
    assert np.sum(G[0] * second) == pytest.approx(np.sum(G[1] * first), rel=1e-4)


def test_the_damping_does_not_depend_on_the_form_of_a():
    rng, X = np.random.default_rng(8), np.random.default_rng(9).standard_normal((12, ORDER))
    Y, G = rng.standard_normal((ORDER, R)), rng.standard_normal((ORDER, R))
    kinds = (
        X.T @ X,
        GramForm(LinearMap(X)),
        [GramForm(LinearMap(X), 0.5), MatrixForm(symmetric_map(0.5 * X.T @ X, "A"))],
    )
    first, *others = (QuadraticSDP(A, 0.5, np.eye(ORDER)).at(Y).preconditioner()(G) for A in kinds)
    for other in others:
        np.testing.assert_allclose(other, first, rtol=0, atol=1e-9 * np.abs(first).max())


def test_without_c_the_mean_of_the_gradient_is_that_of_a_and_b():
    rng = np.random.default_rng(6)
    A, Y, D = psd(rng, ORDER, ORDER), 1e-6 * np.eye(ORDER)[:, :R], rng.standard_normal((ORDER, R))
    problem = QuadraticSDP(A, 0.5)
    found = problem.at(Y).preconditioner()(D)
    eta = (np.sum((A @ Y) ** 2) + 0.5 * np.sum(Y * Y)) / ORDER
    assert np.linalg.norm(found) >= 0.1 * np.linalg.norm(D) / (eta + 0.5e-12 + 1e-12 * np.linalg.norm(A) ** 2)


@pytest.mark.parametrize("A", [None, 2.0])
def test_what_needs_no_decomposition(A):
    basis = QuadraticSDP(A, 0.5, n=ORDER).curvature.basis
    assert basis.V is None
    np.testing.assert_array_equal(basis.a, [A or 0.0])


@pytest.mark.parametrize("B", [1.0, np.diag([1.0, 2.0])])
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_an_a_whose_square_overflows_ends_in_no_traceback(B):
    """Entries of A M A are as large as 1e400 |M|: M is 0 to the least numbers, or the run says that F overflows."""
    A = 1e200 * np.array([[2.0, 1.0], [1.0, 3.0]])
    result = solve(QuadraticSDP(A=A, B=B, C=-np.eye(2)))
    assert result.status in (Status.OPTIMAL, Status.NON_FINITE)
    assert np.all(np.isfinite(result.matrix.factor))
