"""Sums over every kind of index: those of numpy.add.at, derivatives of every order, products in place of its loops."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import elementwise_grad, grad, make_hvp, make_jvp
from autograd.test_util import check_grads

from psdopt.problems.functions import autograd_indexing
from psdopt.problems.functions.autograd_indexing import Index

autograd_indexing.register()
SHAPE = (4, 3, 2)
RNG = np.random.default_rng(0)
ROWS = RNG.integers(-4, 4, 9)
INDICES = {
    "integer": 1,
    "negative": -1,
    "NumPy integer": np.int64(2),
    "array without axes": np.array(2),
    "slice": slice(None, None, -2),
    "ellipsis": (..., 1),
    "new axis": (None, 2),
    "rows": ROWS,
    "unsigned": np.array([3, 0, 3, 3, 1], dtype=np.uint8),
    "few rows": np.array([3, 3]),
    "no rows": np.array([], dtype=np.int64),
    "list": [0, -1, 0, 2, 2],
    "empty list": [],
    "rows in a table": RNG.integers(4, size=(3, 5)),
    "pairs": (RNG.integers(-4, 4, 30), RNG.integers(-3, 3, 30)),
    "pairs that spread": (RNG.integers(4, size=(6, 1)), RNG.integers(3, size=5)),
    "triples": (RNG.integers(4, size=50), RNG.integers(3, size=50), RNG.integers(2, size=50)),
    "rows of a column": (RNG.integers(4, size=15), -1),
    "lists": ([0, 0, 3], [1, 1, 2]),
    "rows and a slice": (ROWS, slice(1, 3)),
    "a slice and columns": (slice(1, 3), np.array([0, 0, 2, 1])),
    "truth": RNG.random(4) < 0.5,
    "truth of all": RNG.random(SHAPE) < 0.5,
    "truth and rows": (np.array([True, True, False, False]), np.array([0, 0])),
    "one truth": True,
}


@pytest.fixture
def A():
    return RNG.standard_normal(SHAPE)


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES.keys())
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_sums_are_those_of_numpy(A, index, dtype):
    A = A.astype(dtype)
    index = np.array(index, dtype=np.int64) if isinstance(index, list) else index
    made = Index(index, SHAPE)
    x = RNG.standard_normal(np.shape(A[index])).astype(dtype)
    expected, sizes, turned = A.copy(), np.abs(A), np.asfortranarray(A)
    np.add.at(expected, index, x)
    np.add.at(sizes, index, np.abs(x))
    for found in (A, turned):
        assert made.add_at(found, x) is found
        assert np.all(np.abs(found - expected) <= 16 * np.finfo(dtype).eps * sizes)  # sums in another order may cancel


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES.keys())
def test_derivatives_of_every_order(A, index):
    check_grads(lambda A: anp.sin(A)[index], modes=["fwd", "rev"], order=2)(A)


def test_a_product_with_the_hessian_is_that_of_the_formula(A):
    """f = Σ_k c_k |A_{i(k)}|⁴/4, with |a|² a as gradient of a row."""
    c, D = RNG.standard_normal(9), RNG.standard_normal(SHAPE)

    def f(A):
        return anp.sum(c * anp.sum(A[ROWS] ** 2, axis=(1, 2)) ** 2) / 4.0

    total = np.zeros(4)
    np.add.at(total, ROWS, c)
    squares, along = np.sum(A**2, axis=(1, 2)), np.sum(A * D, axis=(1, 2))
    expected = total[:, None, None] * (squares[:, None, None] * D + 2.0 * along[:, None, None] * A)
    np.testing.assert_allclose(make_hvp(f)(A)[0](D), expected, rtol=1e-12)
    np.testing.assert_allclose(make_jvp(grad(f))(A)(D)[1], expected, rtol=1e-12)


@pytest.mark.parametrize(("index", "products"), [(ROWS, 1), (ROWS[:3], 0), ((ROWS, ROWS % 2), 1), (slice(1, 3), 0)])
def test_as_many_rows_as_there_are_take_one_product(monkeypatch, index, products):
    made = []
    kind = autograd_indexing.csc_array
    monkeypatch.setattr(autograd_indexing, "csc_array", lambda *given, **named: made.append(1) or kind(*given, **named))
    elementwise_grad(lambda Y: Y[index])(np.ones((4, 2)))
    assert len(made) == products
