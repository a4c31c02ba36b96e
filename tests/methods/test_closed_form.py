"""The closed form: against solve at every rank, chosen and certified."""

import numpy as np
import pytest

from psdopt import ClosedForm, ConjugateGradient, FlatQuotient, PSDCone, QuadraticSDP, Status, solve
from psdopt.linalg.tolerances import EPS
from tests.problems.quadratics import N, data

from ..instances import spectrum_matrix


@pytest.mark.parametrize("rank", range(1, N + 1))
@pytest.mark.parametrize("kind", ["projection", "congruence"])
def test_closed_forms_at_every_rank_against_solve(kind, rank):
    rng, A, _, C = data(rank)
    A = spectrum_matrix(rng, N, np.linspace(0.5, 2.0, N))
    problem = QuadraticSDP(None, 1.5, C) if kind == "projection" else QuadraticSDP(A, None, C)
    exact = problem.solve_in_closed_form(rank)
    best = problem.at(exact.factor).value
    if kind == "projection":
        eigenvalues = np.sort(np.linalg.eigvalsh(-C))[::-1][:rank]
        assert best == pytest.approx(-np.sum(np.maximum(eigenvalues, 0) ** 2) / 1.5, rel=1e3 * EPS)
    assert exact.factor.shape[1] <= rank
    results = [
        solve(problem, FlatQuotient(N, rank), ConjugateGradient(), tol=1e-9, rng=seed, max_iterations=2000)
        for seed in range(2)
    ]
    found = min(results, key=lambda result: result.value)
    assert found.value == pytest.approx(best, rel=1e-7)
    assert found.value >= best - 1e-12 * abs(best)


def test_closed_form_is_chosen_and_certified():
    _, _, _, C = data(1)
    result = solve(QuadraticSDP(None, 2.0, C))
    assert result.status is Status.OPTIMAL
    assert result.method == "ClosedForm"
    assert result.iterations <= 1
    explicit = solve(QuadraticSDP(None, 2.0, C), PSDCone(N), ClosedForm())
    assert explicit.value == pytest.approx(result.value, rel=1e-12)
