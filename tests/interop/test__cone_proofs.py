"""Vectors that prove: what holds up to rounding, what is close and no proof, and units."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_proofs import falls, refutes


def corner(unit: float = 1.0) -> ConeProgram:
    """X ⪰ 0 of order two, X_00 = 0, X_01 = 1: infeasible, and no y proves it. x = (X_00, X_01, X_11)."""
    A = np.concatenate([np.eye(2, 3), -np.eye(3)])
    return ConeProgram(np.zeros(3), None, sp.csr_array(unit * A), unit * np.array([0, 1.0, 0, 0, 0]), 2, 0, (2,))


def edge(unit: float = 1.0) -> ConeProgram:
    """min x with [[0, x], [x, y]] ⪰ 0: zero, while no multipliers meet the conditions of optimality."""
    A = np.array([[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    return ConeProgram(np.array([1.0, 0.0]), None, sp.csr_array(unit * A), np.zeros(3), 0, 0, (2,))


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("size", [1.0, 1e4, 1e8, 1e12])
def test_what_is_nearly_a_proof_for_large_entries_is_none(size, unit) -> None:
    y = np.array([size, -1.0, size, -1.0, 0.0])  # Y = [[size, -1/2], [-1/2, 0]]
    assert not refutes(corner(unit), y, np.abs(y))
    x = np.array([-1.0, size])
    assert not falls(edge(unit), x, np.abs(x))


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_a_proof_holds_in_every_unit(unit) -> None:
    """X_00 = 0 and 2 X_01 + X_11 = -1: y = (1, 1) as [[1, 1], [1, 1]] ⪰ 0."""
    A = np.concatenate([[[1.0, 0.0, 0.0], [0.0, 2.0, 1.0]], -np.eye(3)])
    program = ConeProgram(np.zeros(3), None, sp.csr_array(A), unit * np.array([0.0, -1.0, 0, 0, 0]), 2, 0, (2,))
    y = np.array([1.0, 1.0, 1.0, 2.0, 1.0])
    rounded = y * (1.0 + 1e-15 * np.array([1.0, -1.0, 1.0, 1.0, -1.0]))
    for v in (y, unit * y, rounded):
        assert refutes(program, v, np.abs(v))
    for k in range(5):
        wrong = y.copy()
        wrong[k] *= 0.999
        assert not refutes(program, wrong, np.abs(wrong))
    assert not refutes(program, -y, np.abs(y))
    assert not refutes(program, np.full(5, np.nan), np.abs(y))


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_a_ray_stays_in_the_cones_and_where_nothing_is_curved(unit) -> None:
    """min -x_1 with x_0 >= 0, x_1 >= -3, and x_0 curved."""
    A, b = -unit * np.eye(2), unit * np.array([0.0, 3.0])
    P = sp.csr_array(unit * np.array([[1.0, 0.0], [0.0, 0.0]]))
    program = ConeProgram(np.array([0.0, -1.0]), P, sp.csr_array(A), b, 0, 2, ())
    assert falls(program, np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    for wrong in ([1e-6, 1.0], [0.0, -1.0], [0.0, np.inf]):
        assert not falls(program, np.array(wrong), np.abs(wrong))


def test_a_curvature_that_is_small_beside_another_is_no_flat_direction() -> None:
    """(y - 1)² + (e t - y)² - t for e = 1e-8: bounded, though P is singular to rounding."""
    e = 1e-8
    P = sp.csr_array(2.0 * np.array([[2.0, -e], [-e, e * e]]))
    program = ConeProgram(np.array([-2.0, -1.0]), P, sp.csr_array((0, 2)), np.zeros(0), 0, 0, ())
    assert not falls(program, np.array([0.0, 1.0]), np.array([0.0, 1.0]))


def test_a_fall_of_a_share_of_1e_10_is_none() -> None:
    for share, word in ((1e-5, True), (1e-10, False)):
        program = ConeProgram(np.array([1.0, -1.0 - share]), None, sp.csr_array(-np.eye(2)), np.zeros(2), 0, 2, ())
        assert falls(program, np.ones(2), np.ones(2)) is word
