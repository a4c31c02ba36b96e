"""KTA and linearity objectives: dense formulas, oracles, counts, memory, bad input with its text."""

import tracemalloc

import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt import AutogradProblem, FlatQuotient, QuadraticSDP, solve
from psdopt.errors import InvalidInputError, UnknownNameError
from psdopt.running.choose import choose
from psdopt.testing import CheckStatus, run_checks
from psdopt_plugins.limits import DENSE_ORDER
from psdopt_plugins.metric_learning import kta_problem, linearity_problem

M, D_ = 30, 6
RNG = np.random.default_rng(0)
X = RNG.standard_normal((M, D_)) * (RNG.random((M, D_)) < 0.7) + 0.1
X[:, 0] *= 3.0
Y = np.arange(M) % 3
PAIRS = ([(0, 3), (1, 4), (7, 2), (8, 11)], [(0, 1), (2, 4), (5, 6), (3, 8), (20, 21)])
DIFFERENCES = np.array([X[i] - X[j] for part in PAIRS for i, j in part])
SIGNS = np.repeat([1.0, -1.0], [len(part) for part in PAIRS])
ONE_HOT = np.eye(3)[Y]
REG = {"identity": lambda W: anp.sum((W - np.eye(D_)) ** 2), "frobenius": lambda W: anp.sum(W**2), "trace": anp.trace}


def naive_kta(W, lam, regularizer):
    return lam * anp.sum((anp.dot(anp.dot(X, W), X.T) - ONE_HOT @ ONE_HOT.T) ** 2) + REG[regularizer](W)


def naive_linearity(W, lam, regularizer):
    separations = anp.sum(anp.dot(DIFFERENCES, W) * DIFFERENCES, axis=1)
    return REG[regularizer](W) + lam * anp.sum(SIGNS * separations)


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
def test_value_gradient_and_line_are_those_of_the_dense_formula(kind, regularizer, form):
    build, naive = BUILDERS[kind]
    convert, gram = FORMS[form]
    problem = build(convert(X), 0.37, regularizer=regularizer, gram=gram)
    assert isinstance(problem, QuadraticSDP)
    assert problem.value_at_zero() == pytest.approx(naive(np.zeros((D_, D_)), 0.37, regularizer), rel=1e-12)
    problem.twin = AutogradProblem(lambda W: naive(W, 0.37, regularizer), D_)
    records = run_checks(problem, only=["problem.autograd_twin", "problem.gradient_slope", "problem.line_model"])
    assert {record.verdict for record in records} == {CheckStatus.PASSED}, records


def test_products_are_with_X_alone_or_with_small_matrices():
    sparse, wide = sp.csr_array(X), sp.csr_array(X[: 2 * D_ - 1])
    assert sorted(m.shape for m in kta_problem(sparse, Y, 0.05, gram=False).maps) == [(3, D_), X.shape]
    assert sorted(m.shape for m in kta_problem(wide, Y[: 2 * D_ - 1], 0.05).maps) == [(3, D_), wide.shape]
    assert [m.shape for m in linearity_problem(sparse, PAIRS, 0.05, gram=False).maps] == [X.shape]
    for data in (X, sparse):
        assert sorted(m.shape for m in kta_problem(data, Y, 0.05).maps) == [(3, D_), (D_, D_)]


def large_sparse():
    m = 8_000
    rows, columns = np.repeat(np.arange(m), 5), np.random.default_rng(0).integers(0, 20_000, 5 * m)
    entries = np.random.default_rng(1).standard_normal(5 * m)
    return sp.csr_array((entries, (rows, columns)), shape=(m, 20_000))


def linearity_of_neighbours(data):
    i = np.arange(0, data.shape[0] - 2, 3)
    pairs = (np.column_stack([i, i + 1]), np.column_stack([i, i + 2]))
    return linearity_problem(data, pairs, 1e-3, "frobenius")


@pytest.mark.parametrize(
    ("data", "build", "most"),
    [
        # a quarter of (m, m), itself 6 times smaller than (d, d)
        (large_sparse, lambda X: kta_problem(X, np.arange(8_000) % 4, 1e-3, "frobenius"), 8_000**2 * 8 / 4),
        (large_sparse, linearity_of_neighbours, 8_000**2 * 8 / 4),
        # neither (m, m) nor (d, d), whichever is the larger; XᵀX of the tall X is a 300th of X
        (
            lambda: RNG.standard_normal((6_000, 20)),
            lambda X: kta_problem(X, np.arange(6_000) % 3, 1e-3),
            6_000**2 * 0.8,
        ),
        (lambda: RNG.standard_normal((20, 6_000)), lambda X: kta_problem(X, np.arange(20) % 3, 1e-3), 6_000**2 * 0.8),
    ],
    ids=["sparse kta", "sparse linearity", "tall", "wide"],
)
def test_large_data_make_no_square_array(data, build, most):
    data = data()
    tracemalloc.start()
    problem = build(data)
    result = solve(problem, FlatQuotient(data.shape[1], 3), max_iterations=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.value < problem.value_at_zero()
    assert peak < most


def test_wide_sparse_data_have_no_closed_form_and_narrow_ones_do():
    wide = sp.hstack([sp.csr_array(X), sp.csr_array((len(X), DENSE_ORDER))]).tocsr()
    for large in (kta_problem(wide, Y, 1.0), linearity_problem(aslinearoperator(wide), PAIRS, 1.0)):
        assert not {"closed-form", "diagonal-form"} & large.abilities
        assert choose(large, None, None)[1].name == "ConjugateGradient + TruncatedNewton"
    assert "closed-form" in kta_problem(wide, Y, 1.0, gram=True).abilities
    narrow = kta_problem(sp.csr_array(X), Y, 1.0)
    assert choose(narrow, None, None)[1].name == "EigenSplitting"
    np.testing.assert_allclose(solve(narrow).value, solve(kta_problem(X, Y, 1.0)).value, rtol=1e-5)


BAD_X = X.copy()
BAD_X[2, 1] = np.nan


BAD_CALLS = [
    (kta_problem, (BAD_X, Y, 1.0), "X must be finite; found 1 NaN or infinite entries"),
    (kta_problem, (X[:, 0], Y, 1.0), "X must be a 2-D array; found 1 dimension"),
    (kta_problem, (X, Y[:-1], 1.0), r"y must hold one label per sample, shape \(30,\); found shape \(29,\)"),
    (kta_problem, (X, np.full(M, 7), 1.0), "y must hold at least 2 classes; found only 7"),
    (kta_problem, (X, np.where(Y == 1, np.nan, Y), 1.0), "y must be finite; found 10 NaN or infinite entries"),
    (kta_problem, (X, Y, -1.0), "lam must be a finite number of at least 0; found -1.0"),
    (kta_problem, (X, Y, np.inf), "lam must be a finite number of at least 0; found inf"),
    (kta_problem, (X, Y, 1.0, "trace", "yes"), "gram must be 'auto', True or False; found 'yes'"),
    (linearity_problem, (BAD_X, PAIRS, 1.0), "X must be finite; found 1 NaN or infinite entries"),
    (linearity_problem, (X, ([], []), 1.0), "pairs must hold at least one pair; found none"),
    (linearity_problem, (X, ([(0, 30)], []), 1.0), "pairs must hold indices between 0 and 29; found 30"),
    (linearity_problem, (X, PAIRS, -2.0), "lam must be a finite number of at least 0; found -2.0"),
    (linearity_problem, (X, PAIRS, 1.0, "trace"), "unknown regularizer 'trace'; known: frobenius, identity"),
]


@pytest.mark.parametrize(("build", "arguments", "text"), BAD_CALLS)
def test_bad_input(build, arguments, text):
    with pytest.raises(UnknownNameError if "unknown" in text else InvalidInputError, match=text):
        build(*arguments)
