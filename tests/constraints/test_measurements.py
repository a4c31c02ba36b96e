"""Measurements of constraints against dense matrices, one by one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.constraints import SparseForms, Stacked, Trace, explicit_forms
from psdopt.constraints.explicit import form_norms
from psdopt.images import Images
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms

N = 6


def measurements():
    rng = np.random.default_rng(0)
    A = [sp.random(N, N, density=0.4, random_state=rng) for _ in range(4)]
    full = [rng.standard_normal((N, N)) for _ in range(2)]
    return {
        "trace": Trace(N),
        "sparse": SparseForms.of([a + a.T for a in A]),
        "crowded": SparseForms.of([a + a.T for a in full]),
        "repeated": SparseForms([0, 1, 1], [1, 0, 1], [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], N),
        "stacked": Stacked([Trace(N), Entries([0, 1], [2, 1], N), PairDistances([0], [3], n=N),
                            QuadraticForms(sp.random(3, N, density=0.5, random_state=rng, format="csr"))]),
    }  # fmt: skip


def dense(measurement):
    """[A_t], from its adjoint."""
    identity = Images(measurement.maps, np.eye(N))
    found = []
    for e in np.eye(measurement.size):
        S = np.zeros((N, N))
        measurement.add_to(S, e, identity)
        found.append(S)
    return found


@pytest.mark.parametrize("name", list(measurements()))
def test_all_views_of_a_measurement_agree(name) -> None:
    measurement = measurements()[name]
    A = dense(measurement)
    rng = np.random.default_rng(1)
    U, D = (Images(measurement.maps, rng.standard_normal((N, 3))) for _ in range(2))
    M, cross = U.factor @ U.factor.T, U.factor @ D.factor.T
    assert np.allclose(measurement.pair(U, U), [np.sum(a * M) for a in A])
    assert np.allclose(measurement.pair(U, D), [np.sum(a * 0.5 * (cross + cross.T)) for a in A])
    first, second = measurement.along(U, D)
    assert np.allclose(first, 2.0 * measurement.pair(U, D))
    assert np.allclose(second, measurement.pair(D, D))
    assert np.allclose(form_norms(measurement), [np.linalg.norm(a) for a in A])
    forms = explicit_forms(measurement)
    assert np.allclose([forms.matrix(e).toarray() for e in np.eye(forms.size)], A)
    if measurement.couples:
        P, Q = M + np.eye(N), cross + cross.T
        C = measurement.coupling(P, Q, Images(measurement.maps, np.eye(N)))
        expected = np.array([[np.trace(a @ P @ b @ Q) for b in A] for a in A])
        assert np.allclose(np.triu(C), np.triu(expected))


def test_repeated_places_are_joined() -> None:
    forms = measurements()["repeated"]
    assert len(forms.i) == 2
    assert np.allclose(dense(forms)[0][:2, :2], [[0.0, 1.5], [1.5, 3.0]])
