"""Bounds on cone programs from multipliers that are exact, noisy, moved inward, wrong; M and w of a point and back."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag

from psdopt import certify
from psdopt.interop._cone_bound import INSIDE, bounded, factor_of, multipliers_of
from psdopt.interop._cone_clarabel import found_by_clarabel
from psdopt.interop._cone_forms import PrimalForm
from psdopt.interop._cone_optimal import cone_certificate
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_repair import Repair, inside
from tests.interop.cone_programs import known_optimum, program_of_any_sizes, random_cone_program


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_the_bound_of_noisy_multipliers_holds_and_is_as_good_as_they_are(seed, quadratic) -> None:
    program, x, y = known_optimum(seed, quadratic)
    value = program.value(x)
    rng, room = np.random.default_rng(seed), 1.0 + abs(value)
    for noise in (0.0, 1e-9, 1e-3, 1.0, 100.0):
        wrong_x, wrong_y = (each + noise * rng.standard_normal(len(each)) for each in (x, y))
        found = bounded(program, wrong_x, wrong_y, value, 1e-6, own_run=False)
        assert found.value <= value + 1e-9 * room
        if noise <= 1e-9:
            assert found.value >= value - 1e-5 * room
            assert found.origin in ("answer", "repaired")


@pytest.mark.parametrize("seed", range(8))
def test_answers_of_an_interior_point_are_proven_by_the_programs_own_numbers(seed) -> None:
    pytest.importorskip("clarabel")
    program = program_of_any_sizes(seed)
    answer = found_by_clarabel(program, math.inf)
    value = program.value(answer.x)
    found = bounded(program, answer.x, answer.y, value, 1e-6, own_run=False)
    assert found.certificate is None
    assert found.origin == "repaired"
    assert abs(found.value - value) <= 1e-6 * abs(value)


@pytest.mark.parametrize("share", INSIDE[1:])
def test_multipliers_on_the_boundary_are_moved_inside_first(share) -> None:
    """min x with [[x, 1], [1, 1]] ⪰ 0 once more: no face of the cone that holds a Y near [[1, -1], [-1, 1]] is left."""
    program = ConeProgram(
        np.ones(1), None, sp.csr_array(np.array([[-1.0], [0.0], [0.0]])), np.array([0.0, 1.0, 1.0]), 0, 0, (2,)
    )
    found = cone_certificate(program, np.ones(1), Repair(program).multipliers(np.ones(1), np.zeros(3)))
    assert found is None
    y = inside(program, np.array([1.0, -2.0, 1.0]), share)
    found = cone_certificate(program, np.ones(1), Repair(program).multipliers(np.ones(1), y))
    assert 1.0 - 5.0 * share - 1e-11 <= found.bound <= 1.0


@pytest.mark.parametrize("seed", range(6))
def test_where_multipliers_are_wrong_psdopt_finds_its_own(seed) -> None:
    program, x, y = known_optimum(seed)
    value = program.value(x)
    found = bounded(program, x, -y, value, 1e-6)
    assert abs(found.value - value) <= 1e-5 * (1.0 + abs(value))
    assert found.origin in ("repaired", "psdopt")


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_point_and_multipliers_come_back(seed, quadratic) -> None:
    """x and y of M and w, and M and w of that x and y; x is unchanged for any M."""
    form = PrimalForm(program_of_any_sizes(seed, quadratic))
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((form.n, form.n))
    ends = np.cumsum([0, *form.program.psd])
    blocks = [G[a:b, a:b] for a, b in pairwise(ends)]
    Y = block_diag(*blocks, np.diag(np.abs(np.diagonal(G)[ends[-1] :])))
    w = rng.standard_normal(form.m)
    point = form.point(Y, w)
    assert np.allclose(multipliers_of(form, point.y), w if not form.feasibility else 0.0, rtol=1e-9, atol=1e-9)
    # the slacks of this x need not be those of M, as M need not meet the rows; those of a feasible M are
    program, x, _ = known_optimum(seed, quadratic)
    form = PrimalForm(program)
    again = form.point(factor_of(form, x), np.zeros(form.m)).x
    assert np.allclose(again, x, rtol=0.0, atol=1e-8 * (1.0 + np.max(np.abs(x))))


def test_multipliers_slightly_outside_are_moved_inward() -> None:
    """min x with [[x, 1], [1, 1]] ⪰ 0: 1, with S = [[1, -1], [-1, 1]]; nothing bounds a trace, and C is singular."""
    A = sp.csr_array(np.array([[-1.0], [0.0], [0.0]]))
    program = ConeProgram(np.ones(1), None, A, np.array([0.0, 1.0, 1.0]), 0, 0, (2,))
    form = PrimalForm(program)
    for excess in (1e-9, 1e-6, 1e-3):
        y = np.array([1.0, -2.0 - excess, 1.0])
        w = multipliers_of(form, y)
        certificate = certify(form.problem(), factor_of(form, np.ones(1)), dual=w)
        assert certificate.dual_value is None
        found = bounded(program, np.ones(1), y, 1.0, 1e-12, own_run=False)
        assert found.origin == "repaired"
        assert 1.0 - 10.0 * excess <= found.value <= 1.0


def test_without_a_definite_slack_nothing_is_moved() -> None:
    """x free with a row x_0 - x_1 = 0: S holds r and −r for an unknown that is split in two."""
    A = sp.csr_array(np.array([[1.0, -1.0, 0.0], [0.0, 0.0, -1.0]]))
    program = ConeProgram(np.array([1.0, -1.0 + 1e-3, 0.1]), None, A, np.zeros(2), 1, 0, (1,))
    found = bounded(program, np.zeros(3), np.array([-1.0, 0.1]), 0.0, 1e-6, own_run=False)
    assert (found.value, found.origin) == (-math.inf, "")


def test_programs_without_an_optimum_have_infinite_bounds() -> None:
    program = random_cone_program(0)
    x, value = np.zeros(5), 0.0
    twice = sp.csr_array(sp.vstack([program.A[:1], program.A]))
    nowhere = replace(program, A=twice, b=np.concatenate([[program.b[0] + 1.0], program.b]), zero=2)
    found = bounded(nowhere, x, np.zeros(len(nowhere.b)), value, 1e-6)
    assert found.value == math.inf
    assert "infeasible" in found.message
    free = ConeProgram(np.array([-1.0]), None, sp.csr_array([[-1.0]]), np.zeros(1), 0, 0, (1,))
    found = bounded(free, np.ones(1), np.ones(1), -1.0, 1e-6)
    assert (found.value, found.origin) == (-math.inf, "")
    assert "unbounded" in found.message


def test_a_constant_objective_is_its_own_bound() -> None:
    program = replace(random_cone_program(2), c=np.zeros(5))
    found = bounded(program, np.zeros(5), np.zeros(len(program.b)), 0.0, 1e-6)
    assert (found.value, found.origin) == (0.0, "program")
