"""Definite feasible matrices near M: what is shown, in all units, and what must not be shown."""

import numpy as np
import pytest

from psdopt.constraints.faces import local_norm
from psdopt.constraints.faces.hidden_face import hidden_combination, inside
from psdopt.constraints.faces.local_norm import near_feasible
from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.arrays import norm
from tests.instances import psd, symmetric

UNBOUNDED = np.inf


def equations(rng: np.random.Generator, n: int, m: int, M: np.ndarray) -> tuple[SparseForms, np.ndarray]:
    forms = SparseForms.of([symmetric(rng, n) for _ in range(m)])
    return forms, forms.B @ M[forms.i, forms.j]


@pytest.mark.parametrize("seed", range(8))
def test_a_definite_matrix_that_nearly_meets_equations_is_enough(seed) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 9)), int(rng.integers(1, 5))
    M = psd(rng, n) + 0.1 * np.eye(n)
    forms, b = equations(rng, n, m, M)
    off = 1e-6 * norm(M) * symmetric(rng, n)
    assert near_feasible(forms, b, b, M)
    assert near_feasible(forms, b, b, M + off)
    assert not near_feasible(forms, b, b, 3.0 * M)


@pytest.mark.parametrize("seed", range(4))
def test_units_of_rows_do_not_matter(seed) -> None:
    rng = np.random.default_rng(seed)
    n, m = 6, 4
    M = psd(rng, n) + 0.1 * np.eye(n)
    d = np.exp2(rng.integers(-20, 20, n))
    A = [symmetric(rng, n) for _ in range(m)]
    b = np.array([np.vdot(P, M) for P in A]) * (1.0 + 1e-9)
    scaled = SparseForms.of([P / d / d[:, None] for P in A])
    assert near_feasible(scaled, b, b, d * M * d[:, None])


def test_slacks_may_change_by_their_own_size() -> None:
    forms = SparseForms.of([np.eye(3), np.diag([1.0, 0.0, 0.0])])
    M = np.eye(3) / 3.0
    near, far = np.array([1.0, 0.25]), np.array([1.0, -UNBOUNDED])
    assert near_feasible(forms, near, np.array([1.0, UNBOUNDED]), M)
    assert near_feasible(forms, far, np.array([1.0, 1.0 / 3.0 + 1e-9]), M)
    assert near_feasible(forms, np.array([1.0, 1.0 / 3.0 + 1e-6]), np.array([1.0, UNBOUNDED]), M)  # violated a little
    assert not near_feasible(forms, near, np.array([1.0, UNBOUNDED]), np.diag([0.2, 0.4, 0.4]) + 1e-3)
    assert not near_feasible(forms, np.array([1.0, 1.0]), np.array([1.0, UNBOUNDED]), M)


def test_an_interval_holds_on_both_sides() -> None:
    forms = SparseForms.of([np.eye(2), np.diag([1.0, 0.0])])
    M = 0.5 * np.eye(2)
    assert near_feasible(forms, np.array([1.0, 0.5 - 1e-9]), np.array([1.0, 0.5 + 1e-9]), M)
    assert not near_feasible(forms, np.array([1.0, 0.9]), np.array([1.0, 0.9 + 1e-12]), M)


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("seed", range(4))
def test_matrices_near_a_face_are_refused(seed, size) -> None:
    """⟨P, M⟩ = 0 for a semidefinite combination P, of which no row says so: M is off by `size`, or by rounding."""
    rng = np.random.default_rng(seed)
    n, m = 6, 4
    V = rng.standard_normal((n, n - 2))
    M = V @ V.T
    across = np.linalg.svd(V)[0][:, n - 2 :]
    A = [symmetric(rng, n) for _ in range(m - 1)]
    A.append(across @ across.T - sum(A))
    b = np.array([np.vdot(P, M) for P in A])
    b[-1] = -b[:-1].sum()
    forms = SparseForms.of(A)
    moved = M + size * np.eye(n)
    assert not near_feasible(forms, b, b, moved)
    assert not inside(forms, b, b, moved)
    assert hidden_combination(forms, b, b) is not None


def test_equations_that_depend_on_each_other_are_left_to_the_other_test() -> None:
    forms = SparseForms.of([np.eye(3), 2.0 * np.eye(3), np.diag([1.0, 0.0, 0.0])])
    b, M = np.array([3.0, 6.0, 1.0]), np.eye(3)
    assert not near_feasible(forms, b, b, M)
    assert inside(forms, b, b, M)


def test_matrices_without_a_factor_and_many_products_are_refused(monkeypatch) -> None:
    forms = SparseForms.of([np.eye(3)])
    b = np.array([3.0])
    assert not near_feasible(forms, b, b, np.diag([1.0, 1.0, 0.0]))
    assert not near_feasible(forms, b, b, np.diag([2.0, 2.0, -1.0]))
    assert not near_feasible(forms, b, b, np.full((3, 3), np.nan))
    assert near_feasible(forms, b, b, np.eye(3))
    monkeypatch.setattr(local_norm, "FLOPS", 1.0)
    assert not near_feasible(forms, b, b, np.eye(3))


def test_without_bounds_a_definite_matrix_is_enough() -> None:
    forms = SparseForms.of([np.eye(3), np.diag([1.0, 2.0, 3.0])])
    free = np.full(2, UNBOUNDED)
    assert near_feasible(forms, -free, free, np.eye(3))
