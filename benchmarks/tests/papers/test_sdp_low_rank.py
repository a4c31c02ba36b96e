"""Programs of low rank are what their formulas say, and the benchmark prints a line for each."""

import numpy as np
import pytest

from benchmarks import low_rank
from benchmarks.papers.sdp_low_rank import completion, near_completion, noisy_completion, sensors, synchronisation
from psdopt import solve


def test_the_nuclear_norm_of_a_completion_is_that_of_the_matrix() -> None:
    n, rank = 20, 1
    problem = completion(n, rank, 7.0, seed=3)
    rng = np.random.default_rng(3)
    U, V = rng.standard_normal((2, n, rank))
    assert problem.m == 7 * (2 * n - 1)
    assert np.allclose(problem.lower, (U @ V.T)[problem.forms.i, problem.forms.j - n])
    result = solve(problem)
    assert result.optimal
    assert result.value == pytest.approx(np.linalg.norm(U @ V.T, "nuc"), rel=1e-5)
    assert near_completion(40).m < completion(40).m
    assert noisy_completion(40).m == completion(40).m
    assert not np.array_equal(noisy_completion(40).lower, completion(40).lower)
    assert completion(n).m == n * n  # no more entries than there are


def test_rotations_without_noise_are_feasible_and_optimal() -> None:
    problem = synchronisation(30, noise=0.0, degree=20.0)
    result = solve(problem)
    edges = problem.conic.C.nnz / 18
    assert result.optimal
    assert result.value == pytest.approx(-3.0 * edges, rel=1e-5)
    for k in range(10):
        block = result.matrix.to_dense()[3 * k : 3 * k + 3, 3 * k : 3 * k + 3]
        assert np.allclose(block, np.eye(3), atol=1e-5)


def test_positions_of_sensors_meet_their_distances() -> None:
    problem = sensors(15, degree=5.0, seed=1)
    X = np.random.default_rng(1).uniform(size=(15, 2))
    assert np.allclose(problem.measured(X), problem.lower)


def test_a_line_for_each_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert low_rank.main(["--completion", "12", "--theta", "25", "--seeds", "0", "1"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[-1] == "rank"
    assert [line.split()[0] for line in lines] == ["completion", "completion", "theta", "theta"]
    assert all(" optimal " in line for line in lines)
