"""From one master to the next: how wide the columns become, and what left them."""

import numpy as np

from psdopt import solve
from psdopt.geometries import Spectraplex
from psdopt.methods import ColumnGeneration
from tests.margins.instances import only


def test_blocks_stay_small_and_what_left_them_still_counts():
    """Narrower than n, the master ends at the optimum; dropped instead of aggregated, values could get worse."""
    problem = only(d=12, m=60, seed=4)
    exact = solve(problem, Spectraplex(12), ColumnGeneration(), tol=1e-7)
    width = exact.matrix.compress(1e-6).rank + 4
    assert width < 12
    result = solve(
        problem, Spectraplex(12), ColumnGeneration(columns=3, max_columns=width), tol=1e-4, max_iterations=100
    )
    records = result.history.records
    assert result.optimal
    assert all(record["generated"] <= width for record in records)
    assert any(record["aggregated"] > 0 for record in records)
    share, Y = result.state.aggregate
    assert 0.0 <= share <= 1.0
    assert np.isclose(np.linalg.norm(Y), 1.0)
    T, V = result.state.theta, result.state.columns
    assert np.isclose(np.trace(T) + share, 1.0)
    assert T.shape == (V.shape[1],) * 2


def test_by_default_the_block_has_six_times_the_columns_of_a_round_at_most():
    problem = only(d=90, m=300, seed=4, samples=150)
    result = solve(problem, Spectraplex(90), ColumnGeneration(), tol=1e-4, max_iterations=60)
    assert result.optimal
    assert all(record["generated"] <= 6 * 15 for record in result.history.records)
    assert result.iterations <= 60
