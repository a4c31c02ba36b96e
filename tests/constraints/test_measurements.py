"""Measurements of constraints against dense matrices, one by one."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.constraints import SparseForms
from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError


def test_repeated_places_are_joined() -> None:
    forms = SparseForms([0, 1, 1], [1, 0, 1], [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], 6)
    assert len(forms.i) == 2
    assert np.allclose(forms.matrix(np.eye(2)[0]).toarray()[:2, :2], [[0.0, 1.5], [1.5, 3.0]])


@pytest.mark.parametrize("n", [1, 4, 12])
def test_forms_of_matrices_are_the_matrices(n):
    """A single entry, a diagonal, a full one and one of a zero matrix beside them."""
    rng = np.random.default_rng(n)
    G, H = rng.standard_normal((2, n, n))
    single = np.zeros((n, n))
    single[0, -1] = single[-1, 0] = 2.5
    given = [G + G.T, single, np.diag(rng.standard_normal(n)), np.zeros((n, n))]
    for matrices in (given, [sp.csr_array(A) for A in given], [single]):
        forms = SparseForms.of(matrices)
        dense = [A if isinstance(A, np.ndarray) else A.toarray() for A in matrices]
        assert (forms.n, forms.size) == (n, len(dense))
        for t, A in enumerate(dense):
            np.testing.assert_allclose(forms.matrix(np.eye(len(dense))[t]).toarray(), A, atol=1e-14)
        np.testing.assert_allclose(forms.norms, [np.linalg.norm(A) for A in dense], rtol=1e-13)
        U, V = H[:, :2], G[:, :2]
        expected = [np.sum(A * (U @ V.T)) for A in dense]
        np.testing.assert_allclose(forms.pair(Images((), U), Images((), V)), expected, atol=1e-12)
        first, second = forms.along(Images((), U), Images((), V))
        np.testing.assert_allclose(first, [2.0 * np.sum(A * (U @ V.T)) for A in dense], atol=1e-12)
        np.testing.assert_allclose(second, [np.sum(A * (V @ V.T)) for A in dense], atol=1e-12)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]], ids=["ascending", "in another order"])
def test_places_come_in_any_order(order) -> None:
    i, j, B = np.array([0, 0, 1, 3]), np.array([1, 3, 2, 3]), sp.csr_array(np.arange(1.0, 9.0).reshape(2, 4))
    B.data[[0, 5]] = 0.0  # stored zeros
    forms = SparseForms(j[order], i[order], B[:, order], 4)
    assert np.array_equal(forms.i, i)
    assert np.array_equal(forms.j, j)
    assert np.array_equal(forms.B.toarray(), B.toarray())
    assert forms.B.nnz == 6
    assert B.nnz == 8


@pytest.mark.parametrize("count", [1, 30])
def test_few_and_many_places_give_the_same(count):
    """Of an order of 20, gathered one by one and read from all entries."""
    rng = np.random.default_rng(count)
    i, j = np.triu_indices(20)
    chosen = rng.choice(len(i), count, replace=False) if count == 1 else np.arange(len(i))
    B = rng.standard_normal((3, len(chosen)))
    forms = SparseForms(i[chosen], j[chosen], B, 20)
    U, V = rng.standard_normal((2, 20, 3))
    for first, second in ((U, V), (U, U)):
        left = Images((), first)
        found = forms.pair(left, left if second is first else Images((), second))
        G = first @ second.T
        G = 0.5 * (G + G.T)
        np.testing.assert_allclose(found, B @ G[i[chosen], j[chosen]], atol=1e-12)


def test_a_form_that_is_nearly_symmetric_is_taken_and_all_zero_forms_are_refused():
    A = np.array([[1.0, 2.0], [2.0 * (1.0 + 1e-15), 3.0]])
    assert SparseForms.of([A]).size == 1
    with pytest.raises(InvalidInputError, match="symmetric"):
        SparseForms.of([np.array([[1.0, 2.0], [2.1, 3.0]])])
    with pytest.raises(InvalidInputError, match="zero"):
        SparseForms.of([np.zeros((2, 2)), np.zeros((2, 2))])
    with pytest.raises(InvalidInputError, match="matrix 1 of the forms must be of order 2"):
        SparseForms.of([np.eye(2), np.eye(3)])
