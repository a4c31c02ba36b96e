"""ADMM: exact block updates, the threshold on rho, the polish, and honest ends."""

import numpy as np
import pytest

from psdopt import LBFGS, Ability, FlatQuotient, QuadraticSDP, Status, solve
from psdopt.contracts.splitting import split_of
from psdopt.errors import IncompatibleError, InvalidInputError
from psdopt.methods.admm import ADMM
from tests.methods.pairs import pair_problem


@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_too_small_a_penalty_is_reported_and_never_an_answer(scale):
    problem = pair_problem(scale=scale)
    rho = 0.45 * float(np.linalg.eigvalsh(problem.L.to_dense())[-1])
    result = solve(problem, FlatQuotient(24, 8), ADMM(rho=rho, adapt=False), max_iterations=400)
    assert result.status is Status.DIVERGED
    assert not result.converged
    assert result.message.startswith("diverged")
    # the point is the best one seen, not the one that flew away; its certificate says what it is worth
    assert result.value == pytest.approx(np.nanmin(result.history["value"]), rel=1e-12)
    assert result.value == pytest.approx(problem.at(result.matrix.factor).value, rel=1e-12)
    assert result.certificate.relative > 1e-3
    assert result.iterations < 400


@pytest.mark.parametrize("scale", [1e-3, 1.0, 60.0])
def test_default_proves_the_optimum_whatever_the_scale(scale):
    result = solve(pair_problem(scale=scale), FlatQuotient(24, 9), ADMM(), tol=1e-6)
    assert result.status is Status.OPTIMAL
    assert result.certificate.relative <= 1e-6
    phases = result.history["phase"]
    assert np.unique(phases).tolist() == [0.0, 1.0, 2.0]  # splitting, conjugate gradient, Newton
    assert np.all(np.diff(phases) >= 0.0)
    split_part = phases == 0.0
    assert np.all(np.isfinite(result.history["primal_residual"][split_part][1:]))
    assert np.all(np.isfinite(result.history["dual_residual"][split_part][1:]))
    assert np.all(result.history["rho"][split_part] >= 0.99 * scale)


def test_iterates_do_not_depend_on_the_scale_of_the_objective():
    values = []
    for scale in (1.0, 2.0**10):
        result = solve(pair_problem(scale=scale), FlatQuotient(24, 9), ADMM(polish=None), max_iterations=30)
        values.append(result.history["value"] / scale)
    np.testing.assert_allclose(values[1], values[0], rtol=1e-8)


def test_split_alone_converges():
    result = solve(pair_problem(gamma=10.0), FlatQuotient(24, 9), ADMM(polish=None), tol=1e-5, max_iterations=3000)
    assert result.optimal
    assert np.all(result.history["phase"] == 0.0)


def test_the_polish_may_be_another_method():
    result = solve(pair_problem(seed=4, gamma=5.0), FlatQuotient(24, 9), ADMM(polish=LBFGS()))
    assert result.optimal
    assert result.history["phase"][-1] == 1.0


def test_too_low_a_rank_is_stationary_and_escape_mends_it():
    problem = pair_problem(gamma=20.0)
    low = solve(problem, FlatQuotient(24, 1), ADMM())
    assert low.status is Status.STATIONARY
    grown = solve(problem, FlatQuotient(24, 1), ADMM(), escape=True)
    assert grown.optimal
    assert grown.matrix.factor.shape[1] > 1
    assert grown.value < low.value


def test_added_columns_are_polished_and_the_split_is_not_run_again():
    problem = pair_problem(gamma=20.0)
    result = solve(problem, FlatQuotient(24, 1), ADMM(), escape=True)
    assert result.optimal
    first = int(np.flatnonzero(np.isfinite(result.history["widened_to"]))[0])
    assert np.all(result.history["phase"][first + 1 :] >= 1.0)


def test_refusals():
    problem = QuadraticSDP(B=1.0, C=-np.eye(4))
    with pytest.raises(IncompatibleError, match="lacks biconvex-split"):
        solve(problem, FlatQuotient(4, 2), ADMM())
    with pytest.raises(IncompatibleError, match="offers no biconvex-split"):
        split_of(problem)
    pairs = pair_problem()
    pairs.abilities -= {Ability.EXACT_LINE}
    with pytest.raises(IncompatibleError, match="polish=ConjugateGradient lacks exact-line"):
        solve(pairs, FlatQuotient(24, 2), ADMM())
    for name, values in {"rho": (0.0, -1.0, np.inf, "big", True), "switch": (0.0, 1.0), "polish": (3,)}.items():
        for value in values:
            with pytest.raises(InvalidInputError, match=name):
                ADMM(**{name: value})
