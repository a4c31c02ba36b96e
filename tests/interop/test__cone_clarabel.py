"""Programs in Clarabel's form and its answers back."""

from dataclasses import replace

import numpy as np
import pytest

from psdopt.interop._cone_clarabel import flops, found_by_clarabel, lifted
from tests.interop.cone_programs import defects, known_optimum, random_cone_program, slack_matrix

pytest.importorskip("clarabel")


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_points_multipliers_and_slacks_come_back_in_the_order_of_the_rows(seed, quadratic):
    program = random_cone_program(seed, quadratic)
    found = found_by_clarabel(program, np.inf)
    assert not found.refuted
    assert max(defects(program, found.x, found.y).values()) < 1e-6
    np.testing.assert_allclose(program.b - program.A @ found.x, found.s, atol=1e-6)


def test_without_log_dets_nothing_is_lifted():
    program = random_cone_program(0)
    given = lifted(program)
    assert given.program is program
    assert given.exponential.shape == (0, len(program.c))
    np.testing.assert_array_equal(given.kept, np.arange(len(program.b)))
    assert flops(program) == 6**3 + 3**3
    assert flops(replace(program, log_dets=((1, 2.0),))) == 6**3 + 10**3


@pytest.mark.parametrize("logs", [((0, 2.0),), ((1, 0.5),), ((0, 2.0), (1, 0.5))])
def test_a_log_det_is_the_least_of_its_lifted_form(logs):
    program, x, _ = known_optimum(5)
    rng = np.random.default_rng(0)
    while True:  # a point with definite blocks
        s = program.b - program.A @ x
        if np.linalg.eigvalsh(slack_matrix(program, s[program.first_psd :]))[0] > 0.1:
            break
        program = replace(program, b=program.b + np.concatenate([np.zeros(program.first_psd), eye(program)]))
        x = x + 0.1 * rng.standard_normal(len(x))
    logs = tuple((k, nu) for k, nu in logs if k < len(program.psd))
    program = replace(program, log_dets=logs)
    given, parts = lifted(program), [x]
    for k, _ in logs:
        column, row = np.triu_indices(program.psd[k])
        S = np.zeros((program.psd[k],) * 2)
        S[row, column] = S[column, row] = (program.b - program.A @ x)[program.rows_of(k)]
        L = np.linalg.cholesky(S)
        W = L * np.diagonal(L)
        parts += [W[np.tril_indices(len(S))], np.log(np.diagonal(W))]
    point = np.concatenate(parts)
    assert given.program.value(point) == pytest.approx(program.value(x), rel=1e-12)
    slack = given.program.b - given.program.A @ point
    np.testing.assert_allclose(slack[given.kept], program.b - program.A @ x, atol=1e-13)
    assert np.linalg.eigvalsh(slack_matrix(given.program, slack[given.program.first_psd :]))[0] > -1e-12
    t, _, w = (-given.exponential @ point).reshape(-1, 3).T
    np.testing.assert_allclose(np.exp(t), w, rtol=1e-12)


def eye(program):
    """I in the rows of the blocks."""
    i, j = program.places()
    return np.where(i == j, 1.0, 0.0)
