"""Constrained problems against conic solvers, and what their certificates promise."""

import numpy as np
import pytest

from psdopt import Constrained, Duality, Evaluation, Problem, Status, certify, constraints, solve
from psdopt.constraints import OffersConstraints, constrained_of
from psdopt.contracts.constrained_fit import ConstrainedFit
from psdopt.errors import IncompatibleError
from psdopt.geometries import FlatQuotient
from psdopt.methods import (
    LBFGS,
    AugmentedLagrangian,
    BoundaryPoint,
    ConjugateGradient,
    DualNewton,
    InteriorPoint,
    LagrangeNewton,
)
from psdopt.problems import AutogradProblem, QuadraticSDP
from tests.graphs import random_laplacian


class Wrapped(Problem):
    """A problem with constraints that is no Constrained: it offers one."""

    def __init__(self, inner: Constrained) -> None:
        self.inner, self.n, self.abilities = inner, inner.n, inner.abilities

    def at(self, Y: np.ndarray) -> Evaluation:
        return self.inner.at(Y)

    def constrained(self) -> Constrained:
        return self.inner

    def constrained_fit(self) -> ConstrainedFit:
        return self.inner.constrained_fit()

    @property
    def duality(self) -> Duality:
        return self.inner.duality


LINEAR = [None, InteriorPoint(), BoundaryPoint(), AugmentedLagrangian(), LagrangeNewton()]


@pytest.mark.parametrize(("curvature", "method"), [(1.0, DualNewton()), *((0.0, method) for method in LINEAR)])
def test_methods_ask_for_constraints_by_their_member(curvature: float, method) -> None:
    inner = Constrained(QuadraticSDP(None, curvature, -random_laplacian(6).toarray() / 4), constraints.diagonal(6, 1.0))
    problem = Wrapped(inner)
    assert isinstance(problem, OffersConstraints)
    assert constrained_of(problem) is inner
    found, expected = solve(problem, method=method, rng=0), solve(inner, method=method, rng=0)
    assert found.status is Status.OPTIMAL
    assert found.method == expected.method
    assert found.value == pytest.approx(expected.value, rel=1e-9)  # where arrays lie in memory changes sums of BLAS


def test_a_problem_without_the_member_is_refused_by_name() -> None:
    with pytest.raises(IncompatibleError, match=r"QuadraticSDP offers no constraints: .* must have constrained\(\)"):
        constrained_of(QuadraticSDP(C=np.eye(3)))


def test_an_autograd_problem_is_constrained_by_the_same_object() -> None:
    import autograd.numpy as anp

    rng = np.random.default_rng(1)
    n = 5
    T = rng.standard_normal((n, n))
    T = T + T.T
    smooth = AutogradProblem(lambda M: anp.sum(anp.sqrt(1.0 + (M - T) ** 2)), n, convex=True)
    result = solve(Constrained(smooth, constraints.trace(n, 1.0)), tol=1e-5)
    assert result.status is Status.OPTIMAL
    assert result.matrix.trace() == pytest.approx(1.0, abs=1e-4)


def test_methods_that_know_no_constraints_refuse() -> None:
    problem = Constrained(QuadraticSDP(C=np.eye(3)), constraints.trace(3, 1.0))
    with pytest.raises(IncompatibleError, match="these work: AugmentedLagrangian"):
        solve(problem, FlatQuotient(3, 2), ConjugateGradient())


def test_any_factor_method_may_do_the_work_inside() -> None:
    L = random_laplacian(10, 8) / 4
    problem = Constrained(QuadraticSDP(C=-L / 2), constraints.diagonal(10, 1.0))
    values = [
        solve(problem, FlatQuotient(10, 6), AugmentedLagrangian(inside, 40), tol=1e-5).value
        for inside in (None, LBFGS(), ConjugateGradient())
    ]
    assert np.ptp(values) <= 3e-5 * abs(values[0])


def test_the_rank_grows_until_the_certificate_holds() -> None:
    L = random_laplacian(14, 9) / 4
    problem = Constrained(QuadraticSDP(C=-L / 2), constraints.diagonal(14, 1.0))
    grown = solve(problem, FlatQuotient(14, 1), escape=True)
    assert grown.status is Status.OPTIMAL
    assert grown.matrix.factor.shape[1] > 1
    kept = solve(problem, FlatQuotient(14, 1), max_iterations=60)
    assert kept.matrix.factor.shape[1] == 1
    assert kept.status is not Status.OPTIMAL


@pytest.mark.parametrize("method", [AugmentedLagrangian(), LagrangeNewton()])
def test_a_checkpoint_does_not_hold_the_objective(tmp_path, method) -> None:
    n, path = 100, tmp_path / "run.psdopt"
    C = np.random.default_rng(0).standard_normal((n, n))
    problem = Constrained(QuadraticSDP(C=C + C.T), constraints.diagonal(n, 1.0))
    solve(problem, FlatQuotient(n, 2), method, max_iterations=1, checkpoint=path)
    assert path.stat().st_size < C.nbytes


def test_huge_multipliers_of_a_homogeneous_equation_do_not_spoil_the_bound() -> None:
    # ⟨ee', M⟩ = 0 has no strictly feasible point: its multiplier may be huge, and rounding of S with it
    n = 100
    L = random_laplacian(n, 3) / 4
    forms = [np.ones((n, n))]
    problem = Constrained(QuadraticSDP(C=L / 2), [constraints.diagonal(n, 1.0), constraints.sparse_forms(forms, 0.0)])
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    y = result.certificate.constraints.multipliers.copy()
    y[-1] = 1e9
    spoilt = certify(problem, result.matrix, dual=y)
    finer = solve(problem, tol=1e-8, max_iterations=60)
    assert spoilt.dual_value <= finer.value  # that of the first run may be lower: it is feasible to 1e-6
    assert spoilt.gap_relative <= 1e-4
    assert spoilt.constraints.multipliers[-1] < 1e9
