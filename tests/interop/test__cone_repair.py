"""Points and multipliers that are moved onto the equations: the least change, in any units, inside the cones."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_repair import Repair
from tests.interop.cone_programs import defects, program_of_any_sizes, slack_matrix, with_pair

SEEDS = range(12)


def pair(seed):
    """A program of two blocks of one order and one of another, with interior x and y for one and the same c and b."""
    rng, psd = np.random.default_rng(seed), (3, 2, 3)
    A = sp.csr_array(rng.standard_normal((4 + 6 + 3 + 6, 6)))
    definite = [G @ G.T + 0.1 * np.eye(8) for G in rng.standard_normal((2, 8, 8))]
    return with_pair(rng, A, (1, 3, psd), definite, bool(seed % 2))


def size_of_change(program, y, change):
    """|L⁻¹ Δ L⁻ᵀ| over the blocks and relative changes of inequalities' multipliers, by their formulas."""
    psd = program.first_psd
    Y, D = slack_matrix(program, y[psd:], halved=True), slack_matrix(program, change[psd:], halved=True)
    values, V = np.linalg.eigh(Y)
    root = V / np.sqrt(values)
    relative = change[program.zero : psd] / y[program.zero : psd]
    return np.hypot(np.linalg.norm(root.T @ D @ root), np.linalg.norm(relative))


@pytest.mark.parametrize("seed", SEEDS)
def test_multipliers_are_moved_onto_the_equations_and_stay_inside(seed):
    program, x, y = pair(seed)
    near = y * (1.0 + 1e-3 * np.random.default_rng(seed).standard_normal(len(y)))
    found = Repair(program).multipliers(program.gradient(x), near)
    left = defects(program, x, found)
    assert left["stationarity"] < 1e-12
    assert left["multipliers"] == 0.0
    assert np.linalg.norm(found - near) < 0.1 * np.linalg.norm(y)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_other_multipliers_on_the_equations_are_nearer(seed):
    program, _, y = pair(seed)
    program = replace(program, A=sp.csr_array(program.A[1:]), b=program.b[1:], zero=0)  # equations have no metric
    y = y[1:]
    gradient = -program.A.T @ y
    near = y * (1.0 + 1e-3 * np.random.default_rng(seed).standard_normal(len(y)))
    least = size_of_change(program, near, Repair(program).multipliers(gradient, near) - near)
    null = np.linalg.svd(program.A.toarray().T)[2][6:]
    for direction in null:
        for step in (-1e-5, 1e-5):
            other = Repair(program).multipliers(gradient, near) + step * direction
            assert size_of_change(program, near, other - near) > least


def test_units_of_rows_and_unknowns_change_nothing():
    program, x, y = pair(3)
    gradient = program.gradient(x)
    rng = np.random.default_rng(0)
    near = y * (1.0 + 1e-3 * rng.standard_normal(len(y)))
    plain = Repair(program).multipliers(gradient, near)
    rows = np.ones(len(y))
    rows[1:4] = [1e6, 1e-6, 1e3]
    i, j = program.places()
    d = 10.0 ** rng.integers(-3, 4, 8)
    rows[4:] = d[i] * d[j]  # S becomes D S D
    columns = 10.0 ** rng.integers(-4, 5, len(x))
    A = sp.csr_array(sp.diags_array(rows) @ program.A @ sp.diags_array(columns))
    other = replace(program, A=A, b=rows * program.b)
    found = Repair(other).multipliers(columns * gradient, near / rows)
    np.testing.assert_allclose(found * rows, plain, rtol=1e-9)


def test_multipliers_on_the_boundary_stay_in_their_face_and_negative_ones_are_left_out():
    program = ConeProgram(np.ones(1), None, sp.csr_array([[0.0], [-1.0], [0.0], [-1.0]]), np.ones(4), 0, 1, (2,))
    found = Repair(program).multipliers(np.ones(1), np.array([-1.0, 0.5, 0.0, 0.0]))
    np.testing.assert_allclose(found, [0.0, 1.0, 0.0, 0.0], atol=1e-15)


@pytest.mark.parametrize("seed", SEEDS)
def test_points_are_moved_so_that_their_slacks_are_inside(seed):
    program, x, _ = with_pair_of_small_slacks(seed)
    rng = np.random.default_rng(seed)
    s = program.b - program.A @ x
    wrong = x + 1e-6 * rng.standard_normal(len(x))
    assert max(defects(program, wrong, np.ones(len(s)))[name] for name in ("equations", "inequalities", "slack")) > 1e-8
    found = Repair(program).point(wrong, s)
    left = defects(program, found, np.ones(len(s)))
    assert left["slack"] == left["inequalities"] == 0.0
    assert left["equations"] < 1e-12


def with_pair_of_small_slacks(seed):
    """Slacks as of an interior point near its end: eigenvalues from 1e-9 to 1."""
    rng, psd = np.random.default_rng(seed), (3, 2, 3)
    A = sp.csr_array(rng.standard_normal((4 + 15, 6)))
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    definite = [(Q * np.geomspace(1e-9, 1.0, 8)) @ Q.T] * 2
    return with_pair(rng, A, (1, 3, psd), definite, False)


def test_a_point_is_kept_where_its_slacks_are_on_the_boundary():
    program, x, _ = pair(0)
    s = program.b - program.A @ x
    s[1] = 0.0
    assert Repair(program).point(x, s) is x


def test_systems_with_dependent_unknowns_have_an_answer():
    program, x, y = pair(2)
    twice = replace(program, c=np.tile(program.c, 2), A=sp.csr_array(sp.hstack([program.A, program.A])))
    near = y * (1.0 + 1e-6 * np.random.default_rng(1).standard_normal(len(y)))
    found = Repair(twice).multipliers(twice.gradient(np.tile(x, 2)), near)
    assert np.abs(twice.c + twice.A.T @ found).max() < 1e-12
    again = Repair(twice).point(np.tile(x, 2), twice.b - twice.A @ np.tile(x / 2.0, 2))
    assert np.all(np.isfinite(again))


def test_programs_of_blocks_alone_and_without_any_multipliers():
    program = program_of_any_sizes(0)
    assert np.all(np.isfinite(Repair(program).multipliers(program.c, np.zeros(len(program.b)))))
