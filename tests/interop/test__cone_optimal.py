"""What x and y prove of a cone program by its own numbers, and what they must not."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.interop._cone_optimal import cone_certificate, slack_violation
from psdopt.interop._cone_program import ConeProgram
from tests.interop.cone_programs import known_optimum, random_cone_program, with_pair

SEEDS = range(10)


def feasible_pair(seed, quadratic=False):
    rng, psd = np.random.default_rng(seed), (3, 2)
    A = sp.csr_array(rng.standard_normal((13, 5)))
    definite = [G @ G.T + 0.1 * np.eye(5) for G in rng.standard_normal((2, 5, 5))]
    return with_pair(rng, A, (1, 3, psd), definite, quadratic)


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_is_below_the_value_at_every_feasible_point(seed, quadratic):
    program, x, y = feasible_pair(seed, quadratic)
    found = cone_certificate(program, x, y)
    assert found.infeasibility < 1e-14
    s = program.b - program.A @ x
    assert found.value - found.bound == pytest.approx(y @ s, rel=1e-9)
    assert not found.proves(1e-6)


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_optimal_pair_is_proven(seed, quadratic):
    program, x, y = known_optimum(seed, quadratic)
    found = cone_certificate(program, x, y)
    assert found.proves(1e-8)
    assert found.residual < 1e-9
    assert found.bound <= program.value(x)


@pytest.mark.parametrize("seed", SEEDS)
def test_multipliers_off_the_equations_or_outside_of_the_cones_prove_nothing(seed):
    program, x, y = known_optimum(seed)
    assert cone_certificate(program, x, y * (1.0 + 1e-6)) is None
    assert cone_certificate(program, x, -y) is None
    assert cone_certificate(program, x * np.nan, y) is None
    outside = y.copy()
    outside[program.zero] = -1e-3
    moved = replace(program, c=-program.A.T @ outside)
    assert cone_certificate(moved, x, outside) is None


@pytest.mark.parametrize("kind", ["equation", "inequality", "block"])
def test_violations_are_relative_to_the_terms_of_their_row(kind):
    program, x, y = feasible_pair(1)
    row = {"equation": 0, "inequality": 2, "block": 4}[kind]
    s, sizes = program.b - program.A @ x, np.abs(program.b) + abs(program.A) @ np.abs(x)
    b = program.b.copy()
    b[row] -= s[row] + 1e-3 * sizes[row]
    for unit in (1.0, 1e6):
        scaled = replace(program, b=unit * b)
        found = cone_certificate(scaled, unit * x, y).infeasibility
        assert found > 0.5e-3
        assert found < 2.5e-3 or kind == "block"


def test_what_violations_may_lower_the_value_by_belongs_to_the_gap():
    """min x with x >= 1: below 1 the value is less than the optimal one, by the multiplier times the violation."""
    program = ConeProgram(np.ones(1), None, sp.csr_array([[-1.0], [0.0]]), np.array([-1.0, 1.0]), 0, 1, (1,))
    found = cone_certificate(program, np.array([1.0 - 1e-3]), np.array([1.0, 0.0]))
    assert found.lowered == pytest.approx(1e-3)
    # the same as a block [[x, 1], [1, 1]]
    block = ConeProgram(np.ones(1), None, sp.csr_array([[-1.0], [0.0], [0.0]]), np.array([0.0, 1.0, 1.0]), 0, 0, (2,))
    found = cone_certificate(block, np.array([1.0 - 1e-3]), np.array([1.0, -2.0, 1.0]))
    assert found.lowered == pytest.approx(1e-3, rel=1e-2)
    # and an equation
    equation = ConeProgram(np.ones(1), None, sp.csr_array([[-1.0], [0.0]]), np.array([-1.0, 1.0]), 1, 0, (1,))
    assert cone_certificate(equation, np.array([1.0 - 1e-3]), np.array([1.0, 0.0])).lowered == pytest.approx(1e-3)


def test_a_row_of_zeros_at_a_point_that_is_nothing_but_violation_is_violated():
    # x_0 <= 0 and x_0 >= 0, the block holds x_1 alone
    A = sp.csr_array([[1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    program = ConeProgram(np.array([0.0, 1.0]), None, A, np.array([0.0, 0.0, 1.0]), 0, 2, (1,))
    assert cone_certificate(program, np.array([1e-9, 1.0]), np.array([0.0, 0.0, 1.0])).infeasibility == 1.0


def test_an_entry_of_a_block_counts_as_its_diagonal_allows():
    # X_01 = 0 with X_00 = X_11 = 1: an X_01 of 1e-9 is no violation of all of it
    A = sp.csr_array([[1.0], [0.0], [-1.0], [0.0]])
    program = ConeProgram(np.zeros(1), None, A, np.array([0.0, 1.0, 0.0, 1.0]), 1, 0, (2,))
    found = cone_certificate(program, np.array([1e-9]), np.zeros(4))
    assert found.infeasibility == pytest.approx(1e-9)


@pytest.mark.parametrize("equation", [True, False])
def test_a_constant_that_a_row_hides_is_no_unit_of_the_gap(equation):
    program, x, y = feasible_pair(4)
    plain = cone_certificate(program, x, y)
    # one more unknown of cost 1, which is or is at least 1e9
    first = 0 if equation else program.zero
    A = sp.csr_array(
        sp.block_array([[None, program.A[:first]], [sp.csr_array([[-1.0]]), None], [None, program.A[first:]]])
        if first else sp.block_array([[sp.csr_array([[-1.0]]), None], [None, program.A]])
    )  # fmt: skip
    sizes = (2, 3) if equation else (1, 4)
    hidden = ConeProgram(np.append(1.0, program.c), None, A, np.insert(program.b, first, -1e9), *sizes, program.psd)
    found = cone_certificate(hidden, np.append(1e9, x), np.insert(y, first, 1.0))
    assert found.value == pytest.approx(1e9 + plain.value)
    assert found.unit < 1e3 * max(abs(plain.value), abs(plain.bound))


def test_the_gap_of_a_program_without_an_objective_is_nothing():
    program = replace(random_cone_program(0), c=np.zeros(5))
    found = cone_certificate(program, np.zeros(5), np.zeros(13))
    assert found.value == found.bound == found.gap_relative == 0.0


def test_log_dets_are_bounded_by_multipliers_and_their_units_change_no_verdict():
    # min tr(C X) − 3 log det X has X = 3 C⁻¹
    rng = np.random.default_rng(2)
    G = rng.standard_normal((3, 3))
    C, (j, i) = G @ G.T + np.eye(3), np.triu_indices(3)
    X, twice = 3.0 * np.linalg.inv(C), np.where(i == j, 1.0, 2.0)
    for unit in (1.0, 1e8):
        c = twice * C[i, j] / unit
        program = ConeProgram(c, None, -sp.eye_array(6, format="csr"), np.zeros(6), 0, 0, (3,), ((0, 3.0),))
        best = cone_certificate(program, unit * X[i, j], c)
        assert best.proves(1e-10)
        assert best.value == pytest.approx(9.0 - 3.0 * np.linalg.slogdet(unit * X)[1], rel=1e-12)
        assert best.unit <= 18.0 + 1e-9
        other = cone_certificate(program, 1.01 * unit * X[i, j], c)
        assert 0.0 < other.value - other.bound == pytest.approx(9.0 * (0.01 - np.log(1.01)), rel=1e-6)
        assert not other.proves(1e-6)
        assert cone_certificate(program, -unit * X[i, j], c) is None
    nothing = replace(program, c=0.0 * c)
    assert cone_certificate(nothing, unit * X[i, j], 0.0 * c) is None


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_slacks_are_as_far_outside_as_their_own_terms_say(unit):
    """x = (X_00, X_01, X_11, z): the violation does not change with the unit of a row of X, or of z >= 1."""
    D = np.diag([1.0, unit, unit**2])
    A = np.zeros((4, 4))
    A[0, 3], A[1:, :3] = -1.0, -D
    program = ConeProgram(np.zeros(4), None, sp.csr_array(A), np.array([-1.0, 0.0, 0.0, 0.0]), 0, 1, (2,))

    def outside(corner, beside, z=1.0):
        return slack_violation(program, np.array([corner, beside, 1.0, z]))

    assert outside(1.0, 0.5) <= 1e-14
    assert outside(1.0, 1.25) == pytest.approx(0.25)
    assert outside(0.0, 1e-9) == np.inf
    assert outside(0.0, 0.0) <= 1e-14
    assert outside(1.0, 0.5, z=0.5) == pytest.approx(1.0 / 3.0)
    alone = ConeProgram(np.zeros(4), None, sp.csr_array(A[:1]), np.array([-1.0]), 0, 1, ())
    assert slack_violation(alone, np.array([0.0, 0.0, 0.0, 0.5])) == pytest.approx(1.0 / 3.0)
