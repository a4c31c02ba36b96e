"""The layer on NumPy arrays."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, TermSum, constraints
from psdopt.errors import InvalidInputError, InvalidTypeError, NotDifferentiableError, UnknownNameError
from psdopt.interop import _layer
from psdopt.interop._layer import Layer
from psdopt.terms import LinearTerm, embedded, hermitian_form
from tests.running.derivatives.problems import symmetric

N = 6


def relaxation(C, bounds):
    return Constrained(QuadraticSDP(C=C), constraints.diagonal(N, bounds))


def test_gradients_agree_with_differences():
    layer = Layer(relaxation, N, tol=1e-9)
    rng = np.random.default_rng(0)
    C, bounds, G, E = symmetric(rng, N), np.ones(N), symmetric(rng, N), symmetric(rng, N)
    by_C, by_bounds = layer.gradients(C, bounds, G)
    h = 1e-4
    difference = (layer.matrix(C + h * E, bounds) - layer.matrix(C - h * E, bounds)) / (2 * h)
    assert np.sum(by_C * E) == pytest.approx(np.sum(G * difference), rel=1e-6)
    assert by_bounds.shape == (N,)


def test_the_way_back_does_not_solve_again():
    made = []
    layer = Layer(lambda C: made.append(1) or relaxation(C, np.ones(N)), N)
    C = symmetric(np.random.default_rng(0), N)
    layer.matrix(C)
    layer.gradients(C, np.eye(N))
    assert len(made) == 1


def test_a_batch_beyond_what_is_kept_is_not_all_solved_again(monkeypatch):
    """The way back meets the batch in the same order: the oldest result would be missing each time."""
    monkeypatch.setattr(_layer, "KEPT", 12)
    made, rng = [], np.random.default_rng(0)
    layer = Layer(lambda C: made.append(1) or QuadraticSDP(B=0.5, C=C), N)
    batch = [symmetric(rng, N) for _ in range(16)]
    for C in batch:
        layer.matrix(C)
    for C in batch:
        layer.gradients(C, np.eye(N))
    assert len(layer._kept) == 12
    assert 16 < len(made) <= 26


def test_bad_layers_are_refused():
    C = symmetric(np.random.default_rng(0), N)
    with pytest.raises(InvalidTypeError, match="build must be a function that makes a problem; found int"):
        Layer(3, N)
    with pytest.raises(InvalidInputError, match=r"the layer takes 2 arrays, \('C', 'bounds'\); found 1"):
        Layer(relaxation, N).matrix(C)
    with pytest.raises(InvalidInputError, match="build must make a problem of order 5; found order 6"):
        Layer(relaxation, 5).matrix(C, np.ones(N))
    with pytest.raises(InvalidInputError, match="build must make a problem of order 6; found NoneType"):
        Layer(lambda C: None, N).matrix(C)
    with pytest.raises(UnknownNameError, match="unknown datum 'D'"):
        Layer(lambda D: relaxation(D, np.ones(N)), N).gradients(C, C)
    with pytest.raises(NotDifferentiableError):
        Layer(lambda C: QuadraticSDP(B=0.5, C=C), N).gradients(np.diag([1.0, -1, -1, 0, 2, 3]), np.eye(N))


def test_a_matrix_without_derivatives_is_still_given():
    layer = Layer(lambda C: QuadraticSDP(B=0.5, C=C), N)
    np.testing.assert_allclose(layer.matrix(np.diag([1.0, -1, -1, 0, 2, 3])), np.diag([0.0, 2, 2, 0, 0, 0]), atol=1e-9)


def test_arrays_of_another_shape_are_other_arrays():
    """The same numbers as (6, 3) and as (9, 2): the second makes a problem of another order."""
    layer = Layer(lambda X: QuadraticSDP(A=np.eye(X.shape[1]), C=-X.T @ X), 3, ["C"])
    numbers = np.arange(18.0)
    layer.matrix(numbers.reshape(6, 3))
    with pytest.raises(InvalidInputError, match="build must make a problem of order 3; found order 2"):
        layer.matrix(numbers.reshape(9, 2))


def test_a_hermitian_matrix_is_a_layer_by_its_real_form():
    """The chain C ↦ Ĉ ↦ M ↦ l(H), for any loss of the blocks of M: those of H are sums of them."""
    rng, n = np.random.default_rng(0), 4
    i = np.arange(n)

    def build(C):
        cut = TermSum([LinearTerm(hermitian_form(C[:n, :n] + 1j * C[n:, :n]))])
        return Constrained(cut, constraints.hermitian_entries(i, i, n, 1.0))

    layer, (A, E) = Layer(build, 2 * n), rng.standard_normal((2, n, n))
    C, E = (embedded(each + each.T + 1j * (each - each.T)) for each in (A, E))
    G, h = rng.standard_normal((2 * n, 2 * n)), 1e-4
    (found,) = layer.gradients(C, G)
    values = {k: np.sum(G * layer.matrix(C + k * h * E)) for k in (-2, -1, 1, 2)}
    slope = (8.0 * (values[1] - values[-1]) - (values[2] - values[-2])) / (12.0 * h)
    assert np.sum(found * E) == pytest.approx(slope, rel=1e-6)
    np.testing.assert_allclose(found, embedded(found[:n, :n] + 1j * found[n:, :n]), atol=1e-12 * np.abs(found).max())
