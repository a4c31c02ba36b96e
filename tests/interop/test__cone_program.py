"""Cone programs: blocks by their lower triangles, objective and gradient against direct evaluation."""

import numpy as np
import scipy.sparse as sp

from psdopt.interop._cone_program import ConeProgram, symmetric_parts


def test_all_entries_become_lower_triangles_of_the_symmetric_part():
    rng = np.random.default_rng(0)
    S, T = rng.standard_normal((3, 3)), rng.standard_normal((2, 2))
    full = np.concatenate([[7.0, 8.0], S.ravel(order="F"), T.ravel(order="F")])
    halves = symmetric_parts(2, [3, 2])
    S, T = 0.5 * (S + S.T), 0.5 * (T + T.T)
    expected = [7.0, 8.0, *(S[i, j] for j in range(3) for i in range(j, 3)), T[0, 0], T[1, 0], T[1, 1]]
    assert np.allclose(halves @ full, expected)


def test_the_transpose_makes_symmetric_multipliers_with_the_same_pairing():
    rng = np.random.default_rng(1)
    halves = symmetric_parts(0, [3])
    y = rng.standard_normal(6)
    Y = (halves.T @ y).reshape(3, 3)
    assert np.array_equal(Y, Y.T)
    S = rng.standard_normal((3, 3))
    S = S + S.T
    assert np.isclose(np.vdot(Y, S), y @ (halves @ S.ravel()))


def test_places_number_the_blocks_side_by_side():
    program = ConeProgram(np.zeros(1), None, sp.csr_array((9, 1)), np.zeros(9), 2, 1, (2, 1, 2))
    i, j = program.places()
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [(0, 0), (1, 0), (1, 1), (2, 2), (3, 3), (4, 3), (4, 4)]
    assert (program.first_psd, program.order) == (3, 5)


def test_value_and_gradient():
    rng = np.random.default_rng(2)
    G = rng.standard_normal((4, 4))
    c, x, D = rng.standard_normal(4), rng.standard_normal(4), rng.standard_normal(4)
    program = ConeProgram.from_full(c, sp.csr_array(G @ G.T), sp.csr_array((4, 4)), np.zeros(4), 0, 0, [2])
    assert np.isclose(program.value(x), 0.5 * x @ G @ G.T @ x + c @ x)
    h = 1e-6
    difference = (program.value(x + h * D) - program.value(x - h * D)) / (2.0 * h)
    assert np.isclose(difference, program.gradient(x) @ D, rtol=1e-7)
    linear = ConeProgram.from_full(c, sp.csr_array((4, 4)), sp.csr_array((4, 4)), np.zeros(4), 0, 0, [2])
    assert linear.P is None
    assert np.isclose(linear.value(x), c @ x)
