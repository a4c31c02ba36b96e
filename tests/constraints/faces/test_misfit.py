"""What equations miss on a face whose basis is slightly wrong, and what this costs a bound."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.certificates.constrained.cancellation import most_support
from psdopt.constraints.faces.congruence import carried_forms
from psdopt.constraints.faces.misfit import misfit
from psdopt.constraints.measurements import SparseForms
from tests.constraints.faces.test_hidden_face import hidden
from tests.instances import symmetric


def equations(turn: float) -> tuple[SparseForms, np.ndarray, sp.csr_array]:
    """Ten forms, their values at an M of rank two and order four, and a basis near its range, turned by `turn`."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    K = rng.standard_normal((2, 2))
    A = [symmetric(rng, 4) for _ in range(10)]
    M = Q[:, :2] @ K @ K.T @ Q[:, :2].T
    W = np.linalg.qr(Q[:, :2] + turn * Q[:, 2:])[0]
    return SparseForms.of(A), np.array([np.sum(a * M) for a in A]), sp.csr_array(W)


@pytest.mark.parametrize("turn", [1e-11, 1e-8])
def test_equations_miss_their_bounds_by_the_error_of_the_basis(turn) -> None:
    forms, b, W = equations(turn)
    there = carried_forms(forms, W, np.zeros(0, dtype=np.intp))
    found = misfit(there, forms.norms, b, b, 1e-5)
    assert 0.01 * turn * np.linalg.norm(b) <= np.linalg.norm(found) <= 10.0 * turn * np.linalg.norm(b)
    # y with WᵀA*(y)W = 0 would prove any bound: yᵀb is not zero, but what the equations miss of it
    y = np.linalg.svd(there.B.toarray())[0][:, -1]
    assert abs(y @ b) > 1e-14
    assert y @ found == pytest.approx(y @ b, rel=1e-3, abs=1e-14)


def test_an_exact_basis_misses_nothing_and_inequalities_count_as_nothing() -> None:
    forms, b, W = equations(0.0)
    there = carried_forms(forms, W, np.zeros(0, dtype=np.intp))
    assert np.linalg.norm(misfit(there, forms.norms, b, b, 1e-5)) <= 1e-14 * np.linalg.norm(b)
    forms, b, W = equations(1e-6)
    there = carried_forms(forms, W, np.zeros(0, dtype=np.intp))
    assert not np.any(misfit(there, forms.norms, b, b + 1.0, 1e-5))


def test_what_is_missed_raises_the_support_of_a_searched_face_only() -> None:
    program = hidden(0)[0]
    face = program.face
    assert face.searched
    for y in (face.missed, -face.missed):
        assert most_support(program, y) == program.support(y) + max(-y @ face.missed, 0.0)
    plain = Constrained(QuadraticSDP(C=np.eye(3)), constraints.entries([0], [0], 3, 0.0))
    assert plain.face.missed is None
    assert most_support(plain, np.ones(1)) == 0.0
