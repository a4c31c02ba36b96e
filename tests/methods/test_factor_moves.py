"""Moves of a factor: which directions M lacks, which columns it does not need."""

import numpy as np
import pytest

from psdopt import QuadraticSDP
from psdopt.linalg.tolerances import MINOR, ROOT_EPS, VANISHED
from psdopt.methods.augmented_lagrangian.columns import independent
from psdopt.methods.factor_moves import compressed, outside, with_block


def test_outside_tells_directions_that_the_span_lacks():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    Y = Q[:, :4] @ np.diag([3.0, 2.0, 1.0, 1e-6]) @ np.linalg.qr(rng.standard_normal((4, 4)))[0]
    half = np.sqrt(0.4) * Q[:, :1] + np.sqrt(0.6) * Q[:, 8:9]
    V = np.hstack([Q[:, 1:2], Q[:, 7:8], half, Q[:, 3:4]])
    # the last lies in the span, but along an axis that M hardly uses
    assert outside(V, Y).tolist() == [False, True, True, True]
    assert outside(V, np.zeros((12, 2))).all()


def diagonal_problem(target):
    return QuadraticSDP(None, 1.0, -np.diag(target))  # |M − T|² up to a constant


def test_compression_keeps_axes_along_which_f_would_fall_again():
    """Dropping both small axes would lower F, but the one with S < 0 would be wanted back at once."""
    problem = diagonal_problem([1.0, 0.02, 0.0])
    evaluation = problem.at(np.diag(np.sqrt([1.0, 1e-3, 8e-3])))
    assert problem.at(np.diag([1.0, 0.0, 0.0])).value < evaluation.value
    assert compressed(evaluation).factor.shape[1] == 3


def test_compression_never_increases_the_value_and_keeps_what_is_rounding_out():
    rng = np.random.default_rng(1)
    for seed in range(20):
        target = np.random.default_rng(seed).standard_normal(8)
        problem = diagonal_problem(target)
        Y = rng.standard_normal((8, 8)) * np.geomspace(1.0, 1e-12, 8)
        evaluation = problem.at(Y)
        compact = compressed(evaluation)
        assert compact.value <= evaluation.value + 1e-14 * abs(evaluation.value)
        assert compact.factor.shape[1] < 8


@pytest.mark.parametrize("beta", [1e-6, 0.5, 1.5, 1e6])
@pytest.mark.parametrize(("target", "weight"), [(2.0, 1.0), (0.25, 0.25), (-1.0, 0.0)])
def test_a_block_of_atoms_enters_with_its_best_common_weight(target, weight, beta):
    """F(M + w VVᵀ) is least among w in [0, beta]; where V does not help nothing enters."""
    problem = diagonal_problem([1.0, *3 * [target * beta]])
    evaluation, V = problem.at(np.eye(4)[:, :1]), np.eye(4)[:, 1:]
    found = with_block(evaluation, V, beta)
    np.testing.assert_allclose(found.matrix.to_dense(), np.diag([1.0, *3 * [weight * beta]]), rtol=1e-9)
    assert with_block(evaluation, V, 0.0) is evaluation
    assert (found is evaluation) == (weight == 0.0)


def test_of_zero_one_column_is_kept():
    problem = diagonal_problem([1.0, 2.0])
    for columns in (1, 2, 3):
        evaluation = problem.at(np.zeros((2, columns)))
        compact = compressed(evaluation)
        assert compact.factor.shape == (2, 1)
        assert (compact is evaluation) == (columns == 1)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("lasting", [False, True])
def test_what_is_dropped_does_not_depend_on_the_unit_of_m(unit, lasting):
    """Rounding goes always; a small share of tr M goes where F does not increase, else a much smaller one."""
    problem = diagonal_problem(unit * np.array([1.0, 0.0, 0.0, 0.0]))
    for small, kept in ((1e-17, 1), (1e-3, 1), (0.1, 2)):
        evaluation = problem.at(np.sqrt(unit) * np.diag([1.0, np.sqrt(small), 0.0, 0.0])[:, :2])
        assert compressed(evaluation, lasting).factor.shape[1] == kept
    needed = diagonal_problem(unit * np.array([1.0, 1e-3, 0.0, 0.0]))
    evaluation = needed.at(np.sqrt(unit) * np.diag(np.sqrt([1.0, 1e-3, 1e-6, 0.0]))[:, :3])
    assert compressed(evaluation, lasting).factor.shape[1] == 2


def test_what_has_vanished_lies_between_a_minor_part_and_rounding() -> None:
    assert ROOT_EPS < VANISHED < MINOR


@pytest.mark.parametrize(("factor", "columns"), [(0.9, 1), (1.1, 2)])
def test_a_column_shorter_than_what_counts_is_zero(factor: float, columns: int) -> None:
    assert independent(np.diag([1.0, factor * VANISHED]), 1.0).shape[1] == columns


@pytest.mark.parametrize(("factor", "beyond"), [(0.9, True), (1.1, False)])
def test_a_principal_axis_that_does_not_count_is_no_direction_of_a_matrix(factor: float, beyond: bool) -> None:
    found = outside(np.eye(2), np.diag([1.0, np.sqrt(factor * VANISHED)]))
    np.testing.assert_array_equal(found, [False, beyond])
