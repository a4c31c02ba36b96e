"""Factors modulo rotations: the horizontal part on badly scaled spectra, ranks, refusals."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import FlatQuotient, LowRankPSD
from psdopt.linalg.tolerances import EPS


@st.composite
def points(draw):
    """(geometry, Y, rng): spectrum, frame and scale drawn separately; condition up to 1e4."""
    n = draw(st.integers(2, 8))
    r = draw(st.integers(1, n))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    scale, condition = 10.0 ** draw(st.floats(-5, 5)), 10.0 ** draw(st.floats(0, 4))
    U, V = np.linalg.qr(rng.standard_normal((n, r)))[0], np.linalg.qr(rng.standard_normal((r, r)))[0]
    return FlatQuotient(n, r), scale * (U * np.logspace(0, -np.log10(condition), r)) @ V, rng, condition


@settings(max_examples=80, deadline=None)
@given(points())
def test_horizontal_part(case):
    """Idempotent, symmetric YᵀD, self-adjoint, never longer, and what it removes is vertical, for ambient vectors."""
    geometry, Y, rng, condition = case
    Z, W = rng.standard_normal(Y.shape), rng.standard_normal(Y.shape)
    D = geometry.horizontal(Y, Z)
    allowed = 64 * EPS * condition**2 * np.linalg.norm(Z)
    assert np.linalg.norm(Y.T @ D - D.T @ Y) <= allowed * np.linalg.norm(Y)
    assert np.linalg.norm(geometry.horizontal(Y, D) - D) <= allowed
    assert np.linalg.norm(D) <= np.linalg.norm(Z) + allowed
    assert abs(np.vdot(D, W) - np.vdot(Z, geometry.horizontal(Y, W))) <= allowed * np.linalg.norm(W)
    Omega = np.linalg.lstsq(Y, Z - D, rcond=None)[0]
    removed = 1e3 * allowed / np.linalg.norm(Y) * condition
    assert np.linalg.norm(Omega + Omega.T) <= removed
    vertical = Y @ (Omega - Omega.T)
    assert np.linalg.norm(geometry.horizontal(Y, vertical)) <= 64 * EPS * condition**2 * max(
        np.linalg.norm(vertical), np.linalg.norm(Y)
    )
    if geometry.r > 1:
        assert geometry.check_vector(Y, Z) is not None  # the ambient vector itself is refused
        assert geometry.check_vector(Y, Z).magnitude > geometry.check_vector(Y, Z).allowed


def test_rank_deficient_points():
    geometry, rng = FlatQuotient(6, 3), np.random.default_rng(0)
    Y = np.zeros((6, 3))
    Y[:, 0] = rng.standard_normal(6)
    Z = rng.standard_normal((6, 3))
    D = geometry.horizontal(Y, Z)
    assert geometry.check_vector(Y, D) is None
    np.testing.assert_allclose(geometry.horizontal(Y, D), D, atol=64 * EPS * np.linalg.norm(Z))
    np.testing.assert_array_equal(geometry.horizontal(np.zeros((6, 3)), Z), Z)


def test_from_matrix_pads_or_truncates():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((6, 3))
    M = LowRankPSD(Y)
    for r in (3, 5):
        point = FlatQuotient(6, r).from_matrix(M)
        assert point.shape == (6, r)
        np.testing.assert_allclose(point @ point.T, Y @ Y.T, atol=64 * EPS * np.linalg.norm(Y) ** 2)
    point = FlatQuotient(6, 2).from_matrix(M)
    best = LowRankPSD.from_dense(Y @ Y.T, rank=2).to_dense()
    np.testing.assert_allclose(point @ point.T, best, atol=64 * EPS * np.linalg.norm(Y) ** 2)


def test_points_and_vectors_of_wrong_shape_or_nan_are_refused_with_a_reason():
    geometry = FlatQuotient(4, 2)
    assert "must have shape (4, 2); found (4, 3)" in str(geometry.check_point(np.ones((4, 3))))
    assert "non-finite" in str(geometry.check_point(np.full((4, 2), np.nan)))
    assert "must have shape (4, 2)" in str(geometry.check_vector(np.ones((4, 2)), np.ones(4)))
    assert "non-finite" in str(geometry.check_vector(np.ones((4, 2)), np.full((4, 2), np.inf)))
