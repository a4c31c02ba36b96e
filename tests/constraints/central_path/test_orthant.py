"""x >= 0 in standard form: every member against its formula, and against blocks of order one of matrices."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.constraints.central_path.orthant import Orthant, OrthantMetric
from psdopt.constraints.central_path.semidefinite import Semidefinite

M, P = 4, 6
ROWS = np.array([5, 0, 2])


def part_of(seed: int = 0) -> tuple[Orthant, np.ndarray]:
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((M, P)) * (rng.random((M, P)) < 0.7)
    return Orthant(ROWS, rng.standard_normal(P), sp.csr_array(B)), B


def numbers(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(P) + 0.1


def test_products_and_starts_are_those_of_the_formulas() -> None:
    part, B = part_of()
    x, v = numbers(1), numbers(2)[:M]
    assert part.degree == P
    assert np.allclose(part.measure(x), B @ x, rtol=0, atol=1e-14)
    assert np.allclose(part.adjoint(v), B.T @ v, rtol=0, atol=1e-14)
    for start in part.start(np.ones(M)):
        assert np.array_equal(start, np.full(P, 10.0))
    assert np.array_equal(part.factor(x), np.sqrt(x))
    assert np.array_equal(part.root(np.array([4.0, 0.0, -1e-30])), [2.0, 0.0, 0.0])
    assert part.largest(1e9 * x) == 0.0


@pytest.mark.parametrize("bad", [0.0, -1e-300, np.nan, np.inf])
def test_what_is_not_inside_has_no_factor(bad) -> None:
    part, _ = part_of()
    x = numbers(3)
    x[4] = bad
    with pytest.raises(np.linalg.LinAlgError, match="positive"):
        part.factor(x)


def test_a_step_reaches_the_first_entry_that_vanishes() -> None:
    part, _ = part_of()
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    d = np.array([1.0, -1.0, -6.0, 0.0, -0.1, 3.0])
    assert part.reach(np.sqrt(x), d) == pytest.approx(0.5, rel=1e-14)
    assert part.reach(np.sqrt(x), np.abs(d)) == math.inf


def test_the_two_parts_of_a_vector() -> None:
    part, _ = part_of()
    w = np.array([1.0, -4.0, 0.0, 2.0, -9.0, -0.25])
    up, down, root = part.split(w)
    assert up.tolist() == [1.0, 0.0, 0.0, 2.0, 0.0, 0.0]
    assert down.tolist() == [0.0, 4.0, 0.0, 0.0, 9.0, 0.25]
    assert root.tolist() == [0.0, 2.0, 0.0, 0.0, 3.0, 0.5]


@pytest.mark.parametrize("mu", [0.0, 1e-12, 0.3])
def test_points_of_a_path_differ_by_a_vector(mu) -> None:
    """Neither cancels: 1e-12 / 9 beside 9."""
    part, _ = part_of()
    w = np.array([1.0, -4.0, 0.0, 2.0, -9.0, -0.25])
    x, z = part.smoothed(w)(mu)
    assert np.all((x >= 0.0) & (z >= 0.0))
    np.testing.assert_allclose(x * z, mu, rtol=1e-14, atol=0)
    np.testing.assert_allclose(x - z, w, rtol=1e-14, atol=1e-14)
    part.weights = np.arange(6.0)
    np.testing.assert_allclose(np.multiply(*part.smoothed(w)(mu)), mu + part.weights, rtol=1e-14, atol=0)


@pytest.mark.parametrize(("least", "size", "known"), [
    (1e-6, 1e4, True), (1e-13, 1e4, False), (-1e-6, 1e4, False), (0.0, 0.0, True), (-1e-30, 0.0, False),
])  # fmt: skip
def test_definite_means_beyond_rounding(least, size, known) -> None:
    """Where nothing is added nothing rounds, and 0 is nonnegative."""
    part, B = part_of()
    v = size * numbers(4)[:M]
    slack = np.full(P, 1.0)
    slack[3] = least
    part.C = B.T @ v + slack
    assert part.definite(v) is known


def test_roots_are_put_into_the_rows_of_blocks_and_slacks_left_out() -> None:
    part, _ = part_of()
    Y = np.full((7, 2), -1.0)
    part.placed(Y, np.arange(1.0, P + 1.0))
    assert Y[:, 0].tolist() == [2.0, -1.0, 3.0, -1.0, -1.0, 1.0, -1.0]
    assert np.all(Y[:, 1] == -1.0)


@pytest.mark.parametrize("cached", [True, False])
def test_metrics_are_diagonal(cached, monkeypatch) -> None:
    if not cached:
        monkeypatch.setattr("psdopt.linalg.arrays.CACHED", 0)
        monkeypatch.setattr("psdopt.linalg.arrays.FILLED", 0.0)
    part, B = part_of(5)
    assert isinstance(part.forth, np.ndarray) is cached
    x, w = numbers(6), numbers(7)[:M]
    metric = OrthantMetric(part, x * x)
    expected = (B * x**2) @ B.T
    for fresh, base in ((True, 0.0), (False, 3.0)):
        found = np.full((M, M), base)
        metric.add_to(found, fresh)
        assert np.allclose(np.triu(found), np.triu(base + expected), rtol=0, atol=1e-13)
    assert sp.issparse(metric.sparse())
    assert np.allclose(metric.sparse().toarray(), expected, rtol=0, atol=1e-13)
    assert np.allclose(metric.root() @ metric.root().T, expected, rtol=0, atol=1e-13)
    assert np.allclose(metric.moved(w), x**2 * (B.T @ w), rtol=0, atol=1e-14)


@pytest.mark.parametrize("careful", [False, True])
def test_linearised_equations_are_those_of_matrices_of_order_one(careful) -> None:
    part, _ = part_of(8)
    zero = np.zeros(1, dtype=np.intp)
    same = Semidefinite(np.arange(P)[:, None], part.C[:, None, None], zero, zero, part.B)
    x, z, v, dv = numbers(9), numbers(10), numbers(11)[:M], numbers(12)[:M]
    X, Z = x[:, None, None], z[:, None, None]
    R = part.C - part.adjoint(v) - z
    mine = part.local(x, z, np.sqrt(x), np.sqrt(z), R, careful)
    theirs = same.local(X, Z, np.sqrt(X), np.sqrt(Z), R[:, None, None], careful)
    assert np.allclose(mine.metric.sparse().toarray(), theirs.metric.sparse().toarray(), rtol=0, atol=1e-12)
    assert np.allclose(mine.inverse, theirs.inverse, rtol=0, atol=1e-12)
    for _ in range(2):
        assert np.allclose(mine.terms, theirs.terms, rtol=0, atol=1e-10)
        dx, dz = mine.along(0.3, dv)
        dX, dZ = theirs.along(0.3, dv)
        assert np.allclose(dx, dX.ravel(), rtol=0, atol=1e-11)
        assert np.allclose(dz, dZ.ravel(), rtol=0, atol=1e-11)
        mine.correct(dx, dz)
        theirs.correct(dX, dZ)
    assert np.allclose(mine.terms, theirs.terms, rtol=0, atol=1e-10)
    assert len(mine.terms) == 2
