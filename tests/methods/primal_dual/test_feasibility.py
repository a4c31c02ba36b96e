"""Constant objectives: a feasible M in few steps, or a proof that there is none."""

import numpy as np
import pytest

from psdopt import Constrained, InteriorPoint, QuadraticSDP, Status, constraints, solve


def problem(forms, lower, upper):
    return Constrained(
        QuadraticSDP(C=np.zeros(forms[0].shape)), constraints.sparse_forms(forms, lower=lower, upper=upper)
    )


def drawn(seed):
    """Symmetric A_t (n, n) on random principal minors, and ⟨A_t, M⟩ for an M ⪰ 0 of random rank."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 9)), int(rng.integers(2, 9))
    Y, forms = rng.standard_normal((n, int(rng.integers(1, n + 1)))), np.zeros((m, n, n))
    for A in forms:
        rows = rng.choice(n, int(rng.integers(1, n + 1)), replace=False)
        A[np.ix_(rows, rows)] = rng.standard_normal((len(rows), len(rows)))
    forms += forms.transpose(0, 2, 1)
    return forms, np.einsum("tij,ik,jk->t", forms, Y, Y), rng


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("width", [0.0, 0.1, np.inf])
def test_what_some_matrix_meets_is_met_in_few_steps(seed, width):
    forms, b, _ = drawn(seed)
    posed = problem(forms, b if width == 0.0 else b - width, b + min(width, 1.0))
    result = solve(posed, method=InteriorPoint())
    assert result.status is Status.OPTIMAL
    assert result.certificate.constraints.primal_infeasibility <= 1e-6
    assert result.iterations <= (60 if width == 0.0 else 20)


@pytest.mark.parametrize("seed", [*range(12), 14, 20, 72])
def test_what_no_matrix_meets_is_proven(seed):
    """Σ w_t A_t = P ≻ 0 and Σ w_t b_t < 0."""
    forms, b, rng = drawn(seed)
    w, P = rng.standard_normal(len(b) - 1), rng.standard_normal(forms[0].shape)
    forms[-1] = P @ P.T + 1e-3 * np.eye(len(P)) - np.einsum("t,tij->ij", w, forms[:-1])
    b[-1] = -(10.0 ** rng.uniform(-3.0, 0.0)) - w @ b[:-1]
    assert solve(problem(forms, b, b), method=InteriorPoint()).status is Status.INFEASIBLE


@pytest.mark.parametrize("most", [1.0, 1e-1, 1e-3, 1e-6])
def test_an_entry_that_no_constraint_touches_keeps_nothing_from_being_feasible(most):
    """M_00 <= most and M_01 >= 1, M (3, 3): S_22 = 0 for all multipliers, so that the dual has no interior."""
    held = [constraints.entries([0], [0], 3, upper=most), constraints.entries([0], [1], 3, lower=1.0)]
    result = solve(Constrained(QuadraticSDP(C=np.zeros((3, 3))), held), method=InteriorPoint())
    M = result.matrix.to_dense()
    assert result.status is Status.OPTIMAL
    assert M[0, 0] <= most * (1.0 + 1e-6)
    assert M[0, 1] >= 1.0 - 1e-6
