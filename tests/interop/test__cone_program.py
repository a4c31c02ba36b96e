"""Cone programs: blocks by their lower triangles, objective and gradient against direct evaluation."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.interop._cone_program import ConeProgram, lower_triangles
from tests.interop.cone_programs import slack_matrix


def test_all_entries_become_lower_triangles_of_the_symmetric_part():
    rng = np.random.default_rng(0)
    S, T = rng.standard_normal((3, 3)), rng.standard_normal((2, 2))
    full = np.concatenate([[7.0, 8.0], S.ravel(order="F"), T.ravel(order="F")])
    H, orders = lower_triangles(2, [], [(3, 3), (2, 2)])
    S, T = 0.5 * (S + S.T), 0.5 * (T + T.T)
    expected = [7.0, 8.0, *(S[i, j] for j in range(3) for i in range(j, 3)), T[0, 0], T[1, 0], T[1, 1]]
    assert np.allclose(H @ full, expected)
    assert orders == (3, 2)


@pytest.mark.parametrize("batch", [(1,), (4,), (2, 3), (3, 1, 2)])
def test_stacks_of_matrices_are_taken_apart(batch):
    rng = np.random.default_rng(1)
    S = rng.standard_normal((*batch, 3, 3))
    H, orders = lower_triangles(0, [], [S.shape])
    S = 0.5 * (S + np.swapaxes(S, -1, -2))
    expected = [S[(*b, i, j)] for b in np.ndindex(*batch) for j in range(3) for i in range(j, 3)]
    assert np.allclose(H @ S.ravel(order="F"), expected)
    assert orders == (3,) * np.prod(batch)


def test_second_order_cones_become_arrow_matrices_with_the_same_cone():
    s = np.array([5.0, 3.0, 4.0, 2.0])
    H, orders = lower_triangles(0, [3, 1], [])
    assert (H @ s).tolist() == [5.0, 3.0, 4.0, 5.0, 0.0, 5.0, 2.0]  # |(3, 4)| = 5: on the boundary
    assert orders == (3, 1)
    program = ConeProgram(np.zeros(1), None, sp.csr_array((7, 1)), np.zeros(7), 0, 0, orders)
    assert abs(np.linalg.eigvalsh(slack_matrix(program, H @ s)[:3, :3])[0]) < 1e-14
    rng = np.random.default_rng(2)
    for _ in range(20):  # multipliers that are PSD give multipliers (t, u) with t >= |u|
        G = rng.standard_normal((3, 1))
        i, j = program.places()
        y = np.where(i == j, 1.0, 2.0)[:6] * (G @ G.T)[i[:6], j[:6]]
        t, *u = (H.T @ np.concatenate([y, [1.0]]))[:3]
        assert t >= np.linalg.norm(u) - 1e-12


def test_the_transpose_makes_symmetric_multipliers_with_the_same_pairing():
    rng = np.random.default_rng(1)
    H, _ = lower_triangles(0, [], [(3, 3)])
    y = rng.standard_normal(6)
    Y = (H.T @ y).reshape(3, 3)
    assert np.array_equal(Y, Y.T)
    S = rng.standard_normal((3, 3))
    S = S + S.T
    assert np.isclose(np.vdot(Y, S), y @ (H @ S.ravel()))


def test_places_number_the_blocks_side_by_side():
    program = ConeProgram(np.zeros(1), None, sp.csr_array((9, 1)), np.zeros(9), 2, 1, (2, 1, 2))
    i, j = program.places()
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [(0, 0), (1, 0), (1, 1), (2, 2), (3, 3), (4, 3), (4, 4)]
    assert (program.first_psd, program.order) == (3, 5)


def test_value_and_gradient():
    rng = np.random.default_rng(2)
    G = rng.standard_normal((4, 4))
    c, x, D = rng.standard_normal(4), rng.standard_normal(4), rng.standard_normal(4)
    rows = lower_triangles(0, [], [(2, 2)])
    program = ConeProgram.from_rows(c, sp.csr_array(G @ G.T), sp.csr_array((4, 4)), np.zeros(4), 0, 0, rows)
    assert np.isclose(program.value(x), 0.5 * x @ G @ G.T @ x + c @ x)
    h = 1e-6
    difference = (program.value(x + h * D) - program.value(x - h * D)) / (2.0 * h)
    assert np.isclose(difference, program.gradient(x) @ D, rtol=1e-7)
    linear = ConeProgram.from_rows(c, sp.csr_array((4, 4)), sp.csr_array((4, 4)), np.zeros(4), 0, 0, rows)
    assert linear.P is None
    assert np.isclose(linear.value(x), c @ x)
