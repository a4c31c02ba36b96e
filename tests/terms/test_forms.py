"""Forms against dense matrices: products, traces, diagonals, entries, and what is proven about their sign."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag
from scipy.sparse.linalg import aslinearoperator

from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.operators import LinearMap, symmetric_map
from psdopt.linalg.tolerances import EPS
from psdopt.terms.forms import GramForm, IdentityForm, MatrixForm, SumForm, as_form, squared_norm
from psdopt.terms.weighted_gram import WeightedGramForm
from tests.instances import psd, symmetric

N, M = 6, 9


def cases(rng):
    A, P, X = symmetric(rng, N), psd(rng, N, 3), rng.standard_normal((M, N))
    L, T = rng.standard_normal((M, 2)), symmetric(rng, M)
    return {
        "identity": (IdentityForm(N, -2.0), -2.0 * np.eye(N)),
        "dense": (MatrixForm(A, 3.0), 3.0 * A),
        "sparse": (MatrixForm(sp.csr_array(P)), P),
        "sparse-scaled": (MatrixForm(sp.csr_array(A), -2.5), -2.5 * A),
        "operator": (MatrixForm(aslinearoperator(A), -0.5), -0.5 * A),
        "gram": (GramForm(X, 0.5), 0.5 * X.T @ X),
        "gram-inner": (GramForm(LinearMap(X), 2.0, L), 2.0 * X.T @ L @ L.T @ X),
        "gram-sparse": (GramForm(sp.csr_array(X)), X.T @ X),
        "weighted": (WeightedGramForm(X, T, 0.3), 0.3 * X.T @ T @ X),
        "weighted-sparse": (WeightedGramForm(sp.csr_array(X), T), X.T @ T @ X),
        "sum": (SumForm([MatrixForm(A), IdentityForm(N)]), A + np.eye(N)),
        "sum-gram": (SumForm([GramForm(X), MatrixForm(sp.csr_array(P), -1.0)]), X.T @ X - P),
    }


NAMES = sorted(cases(np.random.default_rng(0)))


@pytest.mark.parametrize("name", NAMES)
def test_a_form_is_its_dense_matrix(name):
    rng = np.random.default_rng(3)
    form, A = cases(rng)[name]
    U, V, T = rng.standard_normal((N, 2)), rng.standard_normal((N, 2)), rng.standard_normal((2, 2))
    left, right = Images(form.maps, U), Images(form.maps, V)
    size = np.abs(A).max() * N * N
    close = lambda x, y: np.testing.assert_allclose(x, y, rtol=0.0, atol=64 * EPS * size)  # noqa: E731
    close(form.to_dense(), A)
    close(form.gram(left, right), U.T @ A @ V)
    close(form.trace(left, right), np.trace(U.T @ A @ V))
    force = sum(G if linear_map is None else linear_map.adjoint(G) for linear_map, G in form.force(right, T))
    close(force, A @ V @ T)
    plain = sum(G if linear_map is None else linear_map.adjoint(G) for linear_map, G in form.force(right))
    close(plain, A @ V)
    assert np.linalg.matrix_rank(A) <= form.rank_bound
    if name != "operator":
        close(form.full_trace(), np.trace(A))
        close(form.diagonal(), np.diag(A))
    S, before = symmetric(rng, N), sum(linear_map.applications for linear_map in form.maps)
    added = S.copy()
    if form.dense_is_cheap:
        form.add_to(added, 0.7)
        np.testing.assert_allclose(added, S + 0.7 * A, atol=64 * EPS * np.abs(S + 0.7 * A).max())
        assert sum(linear_map.applications for linear_map in form.maps) == before
    else:
        assert name == "operator"
        with pytest.raises(InvalidTypeError, match="offers no entries"):
            form.add_to(added, 0.7)


@pytest.mark.parametrize("A", [symmetric(np.random.default_rng(5), 40), np.ones((64, 64))], ids=["random", "ones"])
def test_probed_traces_of_full_operators_are_within_their_statistical_error(A):
    """The mean of 16 values sᵀAs has variance (2/16) Σ_{i≠j} A_ij²: six deviations are never passed by chance.

    Of a matrix of ones a probe by a constant vector misses the trace by a factor n.
    """
    allowed = 6.0 * np.sqrt(2.0 / 16.0 * (np.sum(A**2) - np.sum(np.diag(A) ** 2)))
    assert abs(MatrixForm(aslinearoperator(A)).full_trace() - np.trace(A)) <= allowed
    row = LinearMap(aslinearoperator(np.ones((1, 64))))  # its Gram matrix is that of ones
    allowed = 6.0 * np.sqrt(2.0 / 16.0 * (64 * 64 - 64))
    assert abs(squared_norm(row) - 64) <= allowed
    assert abs(WeightedGramForm(row, np.array([[2.0]]), 0.5).full_trace() - 64) <= allowed


def test_what_is_proven_to_be_psd():
    rng = np.random.default_rng(6)
    A, P = symmetric(rng, N), psd(rng, N, 3)  # P is singular
    X, T = rng.standard_normal((M, N)), psd(rng, M, 4)

    class Own(MatrixForm):
        """A form of one's own that says nothing."""

        def __init__(self):
            super().__init__(P)
            self.dense_is_cheap = False

    proven = [
        IdentityForm(N, 0.0), GramForm(X), GramForm(X, 0.0), MatrixForm(P), MatrixForm(sp.csr_array(P), 2.0),
        MatrixForm(A, psd=True), MatrixForm(aslinearoperator(P), psd=True),
        MatrixForm(-A - 1.1 * np.eye(N), -1.0, psd=True),
        SumForm([MatrixForm(A), IdentityForm(N, 2.1)]), WeightedGramForm(X, T), MatrixForm(np.zeros((N, N))),
        SumForm([GramForm(X), MatrixForm(aslinearoperator(P), psd=True)]),
    ]  # fmt: skip
    unproven = [
        IdentityForm(N, -1.0), GramForm(X, -1.0), MatrixForm(A), MatrixForm(-P), MatrixForm(P, psd=False),
        MatrixForm(aslinearoperator(P)), SumForm([IdentityForm(N, -1.0)]), SumForm([MatrixForm(A), IdentityForm(N)]),
        WeightedGramForm(X, -T), WeightedGramForm(aslinearoperator(X), T), Own(),
        SumForm([GramForm(X), MatrixForm(aslinearoperator(P))]),
    ]  # fmt: skip
    assert [form.is_psd for form in proven] == [True] * len(proven)
    assert [form.is_psd for form in unproven] == [False] * len(unproven)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e30])
def test_neither_rounding_nor_scale_decides_the_sign(scale):
    """A Gram matrix of rank one has 59 eigenvalues of rounding, of both signs; one of -1e-9 relative is no rounding."""
    x = np.random.default_rng(0).standard_normal(60)
    A = np.outer(x, x)
    assert MatrixForm(scale * A).is_psd
    v = np.linalg.svd(A)[0][:, 1]
    assert not MatrixForm(scale * (A - 1e-9 * (x @ x) * np.outer(v, v))).is_psd
    assert not MatrixForm(-scale * np.eye(N)).is_psd


@pytest.mark.parametrize("unit", [1e-30, 1e-9, 1.0])
def test_blocks_in_units_of_their_own_are_no_rounding_of_each_other(unit):
    """[1, 2; 2, 1] has the eigenvalue -1, in any unit beside the Gram matrix of rank one, or a zero row."""
    x = np.random.default_rng(0).standard_normal(60)
    own = unit * np.array([[1.0, 2.0], [2.0, 1.0]])
    for block, proven in (
        (own, False),
        (own @ own, True),
        (np.diag([unit, 0.0]), True),
        (np.diag([unit, -unit]), False),
    ):
        for A in (block_diag(1e9 * np.outer(x, x), block), block_diag(block, 1e9)):
            assert MatrixForm(A).is_psd is proven, (unit, block)


def test_arrays_stand_for_forms():
    A = symmetric(np.random.default_rng(1), N)
    form, shared = IdentityForm(N), symmetric_map(A, "A")
    assert as_form(form, "C") is form
    assert as_form(shared, "C").maps == (shared,)
    for data in (A, A.tolist(), sp.csr_array(A), aslinearoperator(A)):
        np.testing.assert_allclose(as_form(data, "C").to_dense(), A, atol=8 * EPS)
    with pytest.raises(InvalidInputError, match="C must be square and symmetric"):
        as_form(np.ones((2, 3)), "C")
    with pytest.raises(InvalidInputError, match="A must be symmetric"):
        MatrixForm(np.triu(np.ones((3, 3))))
    with pytest.raises(InvalidTypeError, match="C must be a form, a symmetric matrix or operator; found float"):
        as_form(2.0, "C")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: SumForm([]), "at least one part"),
        (lambda: SumForm([IdentityForm(2), IdentityForm(3)]), r"share one order n; found \[2, 3\]"),
        (lambda: GramForm(np.ones((3, 2)), inner=np.ones((4, 1))), "inner must have 3 rows"),
        (lambda: WeightedGramForm(np.ones((3, 2)), np.eye(4)), "T must be of order 3"),
    ],
)
def test_bad_input(make, text):
    with pytest.raises(InvalidInputError, match=text):
        make()


def test_which_forms_hold_an_array():
    A = np.eye(N)
    dense, sparse, lazy = MatrixForm(A), MatrixForm(sp.csr_array(A)), MatrixForm(aslinearoperator(A))
    held = {
        True: [dense, SumForm([dense, IdentityForm(N)]), SumForm([dense, dense]), SumForm([IdentityForm(N), dense])],
        False: [
            sparse, lazy, IdentityForm(N), GramForm(A), SumForm([dense, sparse]), SumForm([lazy, IdentityForm(N)]),
            SumForm([dense, GramForm(A)]),
        ],
    }  # fmt: skip
    for expected, forms in held.items():
        assert [form.holds_array for form in forms] == [expected] * len(forms)


def test_rank_bounds():
    X, L = np.ones((3, N)), np.ones((3, 2))
    assert GramForm(X).rank_bound == 3
    assert GramForm(X, inner=L).rank_bound == 2
    assert GramForm(X.repeat(3, axis=0)).rank_bound == N
    assert GramForm(X, inner=np.ones((3, 9))).rank_bound == N
    assert SumForm([GramForm(X), GramForm(X, inner=L[:, :1])]).rank_bound == 4
    assert SumForm([GramForm(X), IdentityForm(N)]).rank_bound == N


def test_probed_traces_are_exact_where_random_signs_are():
    """sᵀAs = tr A for diagonal A, |X s|² = |X|² for orthogonal columns of X, whatever the signs s."""
    d = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0])
    assert MatrixForm(aslinearoperator(np.diag(d)), 2.0).full_trace() == pytest.approx(2.0 * d.sum(), rel=1e-14)
    np.testing.assert_allclose(MatrixForm(aslinearoperator(np.diag(d))).diagonal(), np.full(N, d.mean()))
    X = np.linalg.qr(np.random.default_rng(0).standard_normal((M, N)))[0] * d
    assert GramForm(aslinearoperator(X), 0.5).full_trace() == pytest.approx(0.5 * np.sum(d**2), rel=1e-13)
    diagonal = WeightedGramForm(aslinearoperator(np.vstack([np.diag(d), np.zeros((3, N))])), np.diag(np.arange(9.0)))
    assert diagonal.full_trace() == pytest.approx(np.sum(np.arange(6.0) * d**2), rel=1e-13)
