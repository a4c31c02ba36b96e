"""KTA and linearity objectives: dense formulas, oracles, counts, memory, bad input with its text."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt import FlatQuotient, QuadraticSDP, certify, solve
from psdopt.errors import InvalidInputError, UnknownNameError
from psdopt_plugins.metric_learning import kta_problem, linearity_problem

M, D_ = 30, 6
RNG = np.random.default_rng(0)
X = RNG.standard_normal((M, D_)) * (RNG.random((M, D_)) < 0.7) + 0.1
X[:, 0] *= 3.0
Y = np.arange(M) % 3
PAIRS = ([(0, 3), (1, 4), (7, 2), (8, 11)], [(0, 1), (2, 4), (5, 6), (3, 8), (20, 21)])
ONE_HOT = np.eye(3)[Y]
REG = {
    "identity": lambda W: np.linalg.norm(W - np.eye(len(W))) ** 2,
    "frobenius": lambda W: np.linalg.norm(W) ** 2,
    "trace": np.trace,
}


def naive_kta(W, lam, regularizer):
    return lam * np.linalg.norm(X @ W @ X.T - ONE_HOT @ ONE_HOT.T) ** 2 + REG[regularizer](W)


def naive_linearity(W, lam, regularizer):
    def separation(i, j):
        return (X[i] - X[j]) @ W @ (X[i] - X[j])

    loss = sum(separation(*p) for p in PAIRS[0]) - sum(separation(*p) for p in PAIRS[1])
    return REG[regularizer](W) + lam * loss


BUILDERS = {
    "kta": (lambda X, lam, **more: kta_problem(X, Y, lam, **more), naive_kta),
    "linearity": (lambda X, lam, **more: linearity_problem(X, PAIRS, lam, **more), naive_linearity),
}
CASES = [("kta", name) for name in REG] + [("linearity", name) for name in ("identity", "frobenius")]
FORMS = {
    "gram": (lambda X: X, True),
    "dense": (lambda X: X, False),
    "auto": (lambda X: X, "auto"),
    "sparse": (sp.csr_array, "auto"),
    "sparse gram": (sp.csc_array, True),
    "operator": (aslinearoperator, "auto"),
    "operator gram": (aslinearoperator, True),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kind", "regularizer"), CASES)
def test_value_gradient_and_line_against_the_dense_formula(kind, regularizer, form):
    build, naive = BUILDERS[kind]
    convert, gram = FORMS[form]
    problem = build(convert(X), 0.37, regularizer=regularizer, gram=gram)
    assert isinstance(problem, QuadraticSDP)
    rng = np.random.default_rng(1)
    F, D, h = rng.standard_normal((D_, 2)), rng.standard_normal((D_, 2)), 1e-4
    at = problem.at(F)
    assert at.value == pytest.approx(naive(F @ F.T, 0.37, regularizer), rel=1e-12)
    assert problem.value_at_zero() == pytest.approx(naive(np.zeros((D_, D_)), 0.37, regularizer), rel=1e-12)

    def along(mu):
        return naive((F + mu * D) @ (F + mu * D).T, 0.37, regularizer)

    slope = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    assert np.vdot(at.factor_gradient(), D) == pytest.approx(slope, rel=1e-8)
    assert at.along(D).value(0.7) == pytest.approx(along(0.7), rel=1e-11)


@pytest.mark.parametrize("rank", range(1, D_ + 1))
def test_kta_with_trace_at_every_rank(rank):
    # B = 0: M = A^-1/2 [top-r of (-A^-1/2 C A^-1/2)_+] A^-1/2, F = -|[.]|^2 + lam |Y Y'|^2
    lam = 0.3
    A, C = np.sqrt(lam) * X.T @ X, 0.5 * np.eye(D_) - lam * X.T @ ONE_HOT @ ONE_HOT.T @ X
    a, V = np.linalg.eigh(A)
    root = V / np.sqrt(a) @ V.T
    top = np.maximum(np.linalg.eigvalsh(-root @ C @ root)[::-1][:rank], 0.0)
    result = solve(kta_problem(X, Y, lam, "trace"), FlatQuotient(D_, rank), tol=1e-9)
    assert result.value == pytest.approx(lam * 3 * 100 - np.sum(top**2), rel=1e-9)


@pytest.mark.parametrize("rank", range(1, D_ + 1))
@pytest.mark.parametrize("regularizer", ["identity", "frobenius"])
def test_linearity_at_every_rank(regularizer, rank):
    lam = 0.4
    differences = [(X[i] - X[j], s) for s, part in zip((1, -1), PAIRS, strict=True) for i, j in part]
    C = 0.5 * lam * sum(s * np.outer(v, v) for v, s in differences)
    shift, constant = (np.eye(D_), D_) if regularizer == "identity" else (0.0, 0)
    top = np.maximum(np.linalg.eigvalsh(shift - C)[::-1][:rank], 0.0)
    expected = constant - np.sum(top**2)
    for data in (X, sp.csr_array(X)):
        problem = linearity_problem(data, PAIRS, lam, regularizer)
        assert solve(problem, FlatQuotient(D_, rank), tol=1e-9).value == pytest.approx(expected, rel=1e-9)


def test_products_are_with_X_alone_or_with_small_matrices():
    assert (
        len(kta_problem(sp.csr_array(X), Y, 0.05).maps)
        == len(linearity_problem(sp.csr_array(X), PAIRS, 0.05).maps)
        == 1
    )
    problem = kta_problem(X, Y, 0.05)
    assert sorted(m.shape for m in problem.maps) == [(3, D_), (D_, D_)]


@pytest.mark.parametrize("kind", ["kta", "linearity"])
def test_large_sparse_never_forms_a_square_array(kind):
    m, d, r = 8_000, 20_000, 3
    rng = np.random.default_rng(0)
    rows, columns = np.repeat(np.arange(m), 5), rng.integers(0, d, 5 * m)
    data = sp.csr_array((rng.standard_normal(5 * m), (rows, columns)), shape=(m, d))
    i = np.arange(0, m - 2, 3)
    tracemalloc.start()
    if kind == "kta":
        problem = kta_problem(data, np.arange(m) % 4, 1e-3, "frobenius")
    else:
        pairs = (np.column_stack([i, i + 1]), np.column_stack([i, i + 2]))
        problem = linearity_problem(data, pairs, 1e-3, "frobenius")
    result = solve(problem, FlatQuotient(d, r), max_iterations=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.value < problem.value_at_zero()
    assert peak < m * m * 8 / 4  # itself 6 times smaller than d * d * 8


@pytest.mark.parametrize(("m", "d"), [(6_000, 20), (20, 6_000)], ids=["tall", "wide"])
def test_dense_data_make_no_array_larger_than_themselves(m, d):
    """Neither (m, m) nor (d, d), whichever is the larger; XᵀX of the tall X is a 300th of X."""
    data = np.random.default_rng(0).standard_normal((m, d))
    tracemalloc.start()
    problem = kta_problem(data, np.arange(m) % 3, 1e-3)
    result = solve(problem, FlatQuotient(d, 3), max_iterations=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.value < problem.value_at_zero()
    assert peak < 6_000 * 6_000 * 8 / 10


def test_wide_sparse_data_have_no_closed_form():
    assert "closed-form" not in kta_problem(sp.csr_array(X), Y, 1.0).abilities
    assert "closed-form" not in linearity_problem(aslinearoperator(X), PAIRS, 1.0).abilities
    assert "closed-form" in kta_problem(sp.csr_array(X), Y, 1.0, gram=True).abilities


def test_certificate_of_the_growing_rank_run_is_global():
    result = solve(kta_problem(sp.csr_array(X), Y, 0.01, "trace"), tol=1e-7)
    assert result.optimal
    dense = kta_problem(X, Y, 0.01, "trace")
    assert certify(dense, result.matrix).proves(1e-6)


BAD_X = X.copy()
BAD_X[2, 1] = np.nan


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((BAD_X, Y, 1.0), "X must be finite; found 1 NaN or infinite entries"),
        ((X[:, 0], Y, 1.0), "X must be a 2-D array; found 1 dimension"),
        ((X, Y[:-1], 1.0), r"y must hold one label per sample, shape \(30,\); found shape \(29,\)"),
        ((X, np.full(M, 7), 1.0), "y must hold at least 2 classes; found only 7"),
        ((X, np.where(Y == 1, np.nan, Y), 1.0), "y must be finite; found 10 NaN or infinite entries"),
        ((X, Y, -1.0), "lam must be a finite number of at least 0; found -1.0"),
        ((X, Y, np.inf), "lam must be a finite number of at least 0; found inf"),
        ((X, Y, 1.0, "trace", "yes"), "gram must be 'auto', True or False; found 'yes'"),
    ],
)
def test_bad_input_of_kta(arguments, text):
    with pytest.raises(InvalidInputError, match=text):
        kta_problem(*arguments)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((BAD_X, PAIRS, 1.0), "X must be finite; found 1 NaN or infinite entries"),
        ((X, ([], []), 1.0), "pairs must hold at least one pair; found none"),
        ((X, ([(0, 30)], []), 1.0), "pairs must hold indices between 0 and 29; found 30"),
        ((X, PAIRS, -2.0), "lam must be a finite number of at least 0; found -2.0"),
    ],
)
def test_bad_input_of_linearity(arguments, text):
    with pytest.raises(InvalidInputError, match=text):
        linearity_problem(*arguments)


def test_linearity_has_no_trace():
    with pytest.raises(UnknownNameError, match="unknown regularizer 'trace'; known: frobenius, identity"):
        linearity_problem(X, PAIRS, 1.0, "trace")
