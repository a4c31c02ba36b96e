"""Second derivatives on the definite cone, against differences; geodesics of the von Neumann metric."""

from unittest.mock import Mock

import numpy as np
import scipy.linalg

from psdopt.geometries import definite_geodesics
from psdopt.geometries.definite_geodesics import matrix_hessian, second_exp, von_neumann_exp, von_neumann_log
from psdopt.geometries.positive_definite import _exp_inverse
from psdopt.linalg.tolerances import EPS
from psdopt.testing.slopes import derivative


def symmetric(seed, n=3):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return 0.5 * (A + A.T)


def test_the_second_derivative_of_exp():
    A, E, H = symmetric(0), symmetric(1), symmetric(2)
    first = lambda t: scipy.linalg.expm_frechet(A + t * H, E, compute_expm=False)  # noqa: E731
    found, error = derivative(first, 0.1)
    assert np.linalg.norm(second_exp(A, E, H) - found) <= 100.0 * np.max(error) + 1e-9
    assert np.linalg.norm(second_exp(A, E, H) - second_exp(A, H, E)) <= 1e-13 * np.linalg.norm(found)


def test_the_matrix_hessian_comes_from_that_of_the_factor():
    """F = tr(A M B M)/2 with the factor Hessian 2 (S D + ∇²F[...] Y) written out."""
    G, A, moved = np.eye(3) + 0.2 * symmetric(3), symmetric(4), symmetric(5)
    hessian = lambda X: 0.5 * (A @ X @ A + A.T @ X @ A.T)  # noqa: E731
    S = hessian(G @ G.T)
    factor_hessian = lambda D: 2.0 * (S @ D + hessian(D @ G.T + G @ D.T) @ G)  # noqa: E731
    found = matrix_hessian(G, S, factor_hessian, moved)
    assert np.linalg.norm(found - hessian(moved)) <= 1e3 * EPS * np.linalg.norm(found)


def test_von_neumann_geodesics_invert_and_agree_with_scalars(monkeypatch):
    A, L = symmetric(6), 0.3 * symmetric(7)
    end = von_neumann_exp(A, L, _exp_inverse)
    counted = Mock(side_effect=von_neumann_exp)
    monkeypatch.setattr(definite_geodesics, "von_neumann_exp", counted)
    assert np.linalg.norm(von_neumann_log(A, end, _exp_inverse) - L) <= 1e-9
    assert counted.call_count <= 10
    # a number: the metric is e^a da², lengths are 2 e^(a/2), so that e^(a/2) moves at constant speed
    a, v = np.array([[0.4]]), np.array([[0.7]])
    exact = 2.0 * np.log(np.exp(0.2) * (1.0 + 0.35))
    assert abs(von_neumann_exp(a, v, _exp_inverse)[0, 0] - exact) <= 1e-10
