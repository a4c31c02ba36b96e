"""Metrics on products of spheres: tangent, positive, an inverse of the slack, kept while it serves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.methods.sphere_metric import SphereMetric


def semidefinite(n, rank, rng):
    """C (n, n) without diagonal, y and V, where S = C − Diag(y) ⪰ 0 and S V = 0."""
    V = rng.standard_normal((n, rank))
    V /= np.linalg.norm(V, axis=1)[:, None]
    G = rng.standard_normal((n, n - rank))
    G -= V @ np.linalg.lstsq(V, G, rcond=None)[0]
    S = G @ G.T / n
    y = -np.diag(S).copy()
    return sp.csr_array(S + np.diag(y)), y, V


def tangent(V, D):
    return D - np.einsum("ij,ij->i", D, V)[:, None] * V


@pytest.mark.parametrize(("n", "rank"), [(12, 2), (40, 5), (90, 9)])
def test_it_inverts_the_slack_near_a_solution(n, rank):
    C, y, V = semidefinite(n, rank, np.random.default_rng(n))
    metric = SphereMetric.of(C).renewed(C, y, 0.0)
    S = C.toarray() - np.diag(y)
    G = tangent(V, np.random.default_rng(0).standard_normal(V.shape))
    expected = tangent(V, np.linalg.solve(S + metric.shift * np.eye(n), G))
    Z = metric(V, G, y)
    assert np.linalg.norm(Z - expected) <= 1e-4 * np.linalg.norm(expected)
    assert np.abs(np.einsum("ij,ij->i", Z, V)).max() <= 1e-12 * np.linalg.norm(Z)
    assert np.vdot(Z, G) > 0.0


def test_it_divides_by_the_curvatures_of_rows_before():
    C, y, V = semidefinite(30, 3, np.random.default_rng(1))
    G = tangent(V, np.random.default_rng(0).standard_normal(V.shape))
    np.testing.assert_allclose(SphereMetric.of(C)(V, G, y), G / -y[:, None], rtol=1e-14)


def test_it_is_kept_until_y_has_moved_and_made_only_near_a_solution():
    C, y, _ = semidefinite(40, 4, np.random.default_rng(2))
    first = SphereMetric.of(C)
    far = abs(y.sum())
    assert first.renewed(C, y, far) is first
    made = first.renewed(C, y, 1e-3 * far)
    assert made.inverse is not None
    assert made.renewed(C, y + 0.5 * made.shift, 1e-4 * far) is made
    assert made.renewed(C, y - 2.0 * made.shift, 1e-4 * far).inverse is not made.inverse


def test_an_indefinite_slack_is_not_inverted_and_tried_again_at_half_the_gradient():
    C, y, _ = semidefinite(40, 4, np.random.default_rng(3))
    size, raised = 1e-4 * abs(y.sum()), y + 0.5 * np.abs(y).mean()
    refused = SphereMetric.of(C).renewed(C, raised, size)
    assert refused.inverse is None
    assert refused.renewed(C, y, 0.9 * size) is refused
    assert refused.renewed(C, y, 0.4 * size).inverse is not None
    assert SphereMetric.of(C).renewed(C, np.where(np.arange(40) == 7, np.nan, y), size).inverse is None


@pytest.mark.parametrize(("n", "degree", "pays"), [(400, 4, True), (2000, 8, False), (300, 299, True)])
def test_it_is_made_where_a_product_with_it_costs_less_than_an_iteration(n, degree, pays):
    rng = np.random.default_rng(0)
    i, j = np.repeat(np.arange(n), degree), rng.integers(0, n, n * degree)
    C = sp.csr_array((np.ones(n * degree), (i, j)), shape=(n, n))
    assert (SphereMetric.of(C).below > 0.0) == pays
