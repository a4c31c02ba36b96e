# ruff: noqa: E501 (tables of exact texts)
"""Linear maps: one code path for dense, sparse and matrix-free data, honest counts, one clear error each."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.linalg.operators import LinearMap, symmetric_map
from psdopt.linalg.row_blocks import linear_map
from psdopt.linalg.tolerances import EPS, asymmetry_allowed
from tests.linalg.instances import matrix
from tests.psdopt_plugins.instances import OnDisk

WRAPPERS = [lambda A: A, lambda A: A.tolist(), sp.csr_array, sp.coo_matrix, sp.csc_array, aslinearoperator]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 4), st.floats(-150, 150), st.integers(0, 2**31))
def test_all_kinds_of_data_agree(p, n, k, log_scale, seed):
    rng = np.random.default_rng(seed)
    A = 10.0**log_scale * rng.standard_normal((p, n)) * (rng.random((p, n)) < 0.6)
    V, W = rng.standard_normal((n, k)), rng.standard_normal((p, k))
    for wrap in WRAPPERS:
        mapped = LinearMap(wrap(A))
        assert mapped.shape == (p, n)
        allowed = 16 * (n + p) * EPS * np.abs(A).max()
        assert np.max(np.abs(mapped.apply(V) - A @ V)) <= allowed * np.abs(V).max()
        assert np.max(np.abs(mapped.adjoint(W) - A.T @ W)) <= allowed * np.abs(W).max()
        assert isinstance(mapped.apply(V), np.ndarray)
        assert (mapped.applications, mapped.columns) == (3, 3 * k)
        np.testing.assert_array_equal(mapped.to_dense(), A)


def test_kinds_are_told_apart():
    dense, sparse, free = (LinearMap(wrap(np.eye(3)), "K") for wrap in (np.asarray, sp.csr_array, aslinearoperator))
    assert (dense.is_matrix, sparse.is_matrix, free.is_matrix) == (True, True, False)
    assert (dense.is_sparse, sparse.is_sparse, free.is_sparse) == (False, True, False)
    assert repr(sparse) == "LinearMap(K: 3x3, csr_array)"
    dense.to_dense()[0, 0] = 7.0
    assert dense.data[0, 0] == 1.0
    np.testing.assert_array_equal(LinearMap(np.array([[True, False]])).apply(np.ones((2, 1))), [[1.0]])


def complex_operator():
    return LinearOperator((2, 2), matvec=lambda v: 1j * v, dtype=complex)


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        ([[np.nan, 1.0]], InvalidInputError, "X must be finite; found 1 NaN or infinite entries"),
        (sp.csr_array([[np.inf, 1.0], [-np.inf, 0.0]]), InvalidInputError, "X must be finite; found 2 NaN or infinite entries"),
        ([[1j, 0]], InvalidTypeError, "X must hold real numbers; found dtype complex128"),
        (sp.csr_array([[1j, 0]]), InvalidTypeError, "X must hold real numbers; found dtype complex128"),
        (complex_operator(), InvalidTypeError, "X must be real; found dtype complex128"),
        ([[1.0, 2.0], [3.0]], InvalidTypeError, "X must be a matrix; found list: "),
        ([["a"]], InvalidTypeError, "X must hold real numbers; found dtype <U1"),
        (None, InvalidInputError, r"X must be a 2-D array; found 0 dimension\(s\), shape \(\)"),
        ([1.0, 2.0], InvalidInputError, r"X must be a 2-D array; found 1 dimension\(s\), shape \(2,\)"),
        (np.zeros((2, 2, 2)), InvalidInputError, r"X must be a 2-D array; found 3 dimension\(s\), shape \(2, 2, 2\)"),
        (np.zeros((0, 3)), InvalidInputError, r"X must not be empty; found shape \(0, 3\)"),
        ([[]], InvalidInputError, r"X must not be empty; found shape \(1, 0\)"),
    ],
)  # fmt: skip
def test_bad_data(data, kind, text):
    with pytest.raises(kind, match=text):
        LinearMap(data, "X")


@pytest.mark.parametrize("wrap", WRAPPERS[:1] + WRAPPERS[2:])
def test_symmetry_is_checked(wrap):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 30))
    A = 1e5 * (A + A.T)
    assert symmetric_map(wrap(A), "A", 30).shape == (30, 30)
    noisy = A * (1 + EPS * rng.standard_normal(A.shape))
    assert symmetric_map(wrap(noisy), "A", 30).shape == (30, 30)
    wrong = A.copy()
    wrong[2, 3] += 1.0
    with pytest.raises(InvalidInputError, match=r"A must be symmetric; found max \|A - Aᵀ\| = .* against max \|A\| = "):
        symmetric_map(wrap(wrong), "A")
    with pytest.raises(InvalidInputError, match=r"A must be square and symmetric; found shape \(29, 30\)"):
        symmetric_map(wrap(A[:29]), "A")
    with pytest.raises(
        InvalidInputError, match=r"A must be of order 31 like the other arguments; found shape \(30, 30\)"
    ):
        symmetric_map(wrap(A), "A", 31)


def test_a_sparse_map_knows_whether_it_equals_its_transpose():
    rng = np.random.default_rng(0)
    half = sp.random_array((30, 30), density=0.2, rng=rng, format="csr")
    A = sp.csr_array(half + half.T)
    assert symmetric_map(A, "A").mirrored
    noisy = A.copy()
    noisy.data *= 1.0 + EPS * rng.standard_normal(len(A.data))
    assert not symmetric_map(noisy, "A").mirrored
    one_sided = sp.csr_array((np.ones(3), ([0, 0, 1], [1, 1, 0])), shape=(2, 2))  # 2 above, 1 below
    with pytest.raises(InvalidInputError, match="must be symmetric"):
        symmetric_map(one_sided, "A")
    assert not symmetric_map(A.toarray(), "A").mirrored


def test_gram_matrices_at_any_scale_pass_the_symmetry_check():
    rng = np.random.default_rng(1)
    for scale in (1e-150, 1.0, 1e150):
        X = rng.standard_normal((40, 25)) * np.logspace(0, -6, 25)
        A = np.array([[scale * float(x @ y) for y in X.T] for x in X.T])
        assert symmetric_map(A, "A").shape == (25, 25)
    assert asymmetry_allowed(2.0, 50) == 2 * asymmetry_allowed(1.0, 50)


@pytest.mark.parametrize("convert", [lambda A: A, sp.csr_array, sp.csc_array])
def test_largest_row_sum_bounds_the_spectrum(convert):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((9, 9)) * (rng.random((9, 9)) < 0.5)
    A = A + A.T
    found = LinearMap(convert(A)).largest_row_sum()
    assert found == pytest.approx(np.linalg.norm(A, np.inf))
    assert found >= np.abs(np.linalg.eigvalsh(A)).max()


class Assembled(LinearOperator):
    """An operator whose entries are at hand; its products are counted."""

    def __init__(self, S, entries):
        super().__init__(float, S.shape)
        self.S, self.entries, self.calls = S, entries, 0

    def _matmat(self, V):
        self.calls += 1
        return self.S @ V


@pytest.mark.parametrize("threshold", [None, -3.0])
def test_entries_take_the_place_of_products(threshold):
    S = matrix(np.linspace(-1.0, 2.0, 150), 3)
    operators = Assembled(S, lambda: S.copy()), Assembled(S, lambda: None), S
    options = {"threshold": threshold, "backend": "dense"}
    own, product, plain = (smallest_eigenpair(operator, **options) for operator in operators)
    assert operators[0].calls == 0
    assert operators[1].calls > 0
    assert own.products == product.products == plain.products == 150
    slack = 64 * 150**0.5 * np.finfo(float).eps * 2.0
    for other in (product, plain):
        assert abs(own.value - other.value) <= slack
        assert abs(own.lower_bound - other.lower_bound) <= slack
        assert abs(own.vector @ other.vector) >= 1.0 - slack / 0.02  # distance of the eigenvalues
    assert own.lower_bound <= np.linalg.eigvalsh(S)[0] + slack


def test_entries_that_are_not_finite_raise():
    S = matrix(np.linspace(-1.0, 2.0, 80), 4)
    spoilt = S.copy()
    spoilt[3, 5] = spoilt[5, 3] = np.nan
    with pytest.raises(FloatingPointError, match="not finite"):
        smallest_eigenpair(Assembled(S, lambda: spoilt), backend="dense")


@pytest.mark.parametrize("budget", [8, 12, 20, 40])
def test_rounding_is_relative_to_the_largest_product_that_was_seen(budget):
    """The norm of S is estimated from below by every product; to forget one would make the proven bound too tight."""
    n = 200
    S = matrix(np.random.default_rng(0).choice([-1.0, 1.0], n) * np.linspace(0.5, 1.0, n))
    seen = []

    class Recorded:
        shape = (n, n)

        def __matmul__(self, X):
            image = S @ X
            seen.append(np.max(np.linalg.norm(image, axis=0) / np.linalg.norm(X, axis=0)))
            return image

    pair = smallest_eigenpair(Recorded(), backend="lanczos", max_products=budget)
    assert pair.norm >= max(seen) * (1.0 - 1e-12)
    assert pair.lower_bound <= pair.value - 4.0 * n**0.5 * np.finfo(float).eps * max(seen) * (1.0 - 1e-12)


@pytest.mark.parametrize("n", [5, 128, 300])
def test_a_symmetric_map_reads_half_of_a_dense_array_and_finds_asymmetry_in_every_tile(n):
    rng = np.random.default_rng(0)
    G = rng.standard_normal((n, n))
    K, x = G + G.T, rng.standard_normal((n, 1))
    for data in (K, np.asfortranarray(K)):
        A = symmetric_map(data, "K")
        np.testing.assert_allclose(A.apply(x), K @ x, rtol=0, atol=64 * n * EPS * np.abs(K).max())
        assert (A.applications, A.columns) == (1, 1)
    for i, j in ((0, n - 1), (n - 1, 0), (n // 2, n // 2 + 1)):
        skew = K.copy()
        skew[i, j] += 1e-3
        with pytest.raises(InvalidInputError, match="must be symmetric; found max"):
            symmetric_map(skew, "K")


def test_images_by_columns_are_the_same_numbers():
    rng = np.random.default_rng(5)
    X, V = rng.standard_normal((30, 4)), rng.standard_normal((4, 3))
    rows, columns = LinearMap(X), LinearMap(X)
    columns.by_columns = True
    assert columns.apply(V).flags.f_contiguous
    np.testing.assert_allclose(columns.apply(V), rows.apply(V), rtol=1e-14, atol=1e-14)
    assert columns.columns == 6


@pytest.mark.parametrize("kind", ["rows", "columns", "strided", "sparse", "file"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (300, 7, 2), (40_000, 3, 5), (90, 200, 200)])
def test_squares_of_rows_are_those_of_the_image_which_is_not_formed(kind, shape):
    (p, n, k), rng = shape, np.random.default_rng(0)
    A, V = rng.standard_normal((p, n)) * 10.0 ** rng.uniform(-6.0, 6.0, n), rng.standard_normal((n, k))
    data = {
        "rows": A, "columns": np.asfortranarray(A), "strided": np.repeat(A, 2, axis=1)[:, ::2], "sparse": sp.csr_array(A),
        "file": OnDisk(A),
    }[kind]  # fmt: skip
    made = linear_map(data)
    np.testing.assert_allclose(made.row_squares(V), np.square(A @ V).sum(axis=1), rtol=1e-12)
    assert made.applications == 1
    assert made.columns == k
