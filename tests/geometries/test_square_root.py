"""Random factors and square roots of the geometries."""

import numpy as np
import pytest

from psdopt import FixedTrace, FlatQuotient, Polar, PositiveDefinite, PSDCone, Status, TermSum, solve
from psdopt.terms import Entries, LeastSquares, MeasuredTerm


@pytest.mark.parametrize(
    "geometry",
    [FlatQuotient(5, 5), FlatQuotient(5, 2), FixedTrace(5, 5), PSDCone(5), PositiveDefinite(5), Polar(5, 5)],
    ids=str,
)
def test_random_points_are_generic_and_follow_the_generator(geometry):
    """No entry of M is rounding, another seed is another matrix, and at full rank no two eigenvalues agree."""
    seen = [geometry.to_matrix(geometry.random_point(np.random.default_rng(s))).to_dense() for s in (0, 0, 1)]
    np.testing.assert_array_equal(seen[0], seen[1])
    assert np.linalg.norm(seen[0] - seen[2]) > 0.1 * np.linalg.norm(seen[0])
    assert np.abs(seen[0]).min() > 1e-6
    if geometry.rank in (None, geometry.n):
        assert np.all(np.diff(np.linalg.eigvalsh(seen[0])) > 1e-6)


@pytest.mark.parametrize("n", [3, 10, 30])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_fit_to_entries_off_the_diagonal_is_solved_from_the_default_start(n, seed):
    """All measurements are orthogonal to I: a start of M = I would see nothing but rounding."""
    rng = np.random.default_rng(seed)
    G, (i, j) = rng.standard_normal((n, 3)), np.triu_indices(n, 1)
    target = G @ G.T
    problem = TermSum([MeasuredTerm(Entries(i, j, n), LeastSquares(target[i, j]))])
    result = solve(problem, rng=seed)
    assert result.status is Status.OPTIMAL
    assert result.matrix.trace() <= 1e3 * np.trace(target)  # of the starts it was 1e15
