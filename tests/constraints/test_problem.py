"""Constrained problems against conic solvers, and what their certificates promise."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, Duality, Evaluation, Problem, Status, certify, constraints, solve
from psdopt.constraints import OffersConstraints, constrained_of
from psdopt.contracts.constrained_fit import ConstrainedFit
from psdopt.errors import IncompatibleError, InvalidInputError
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


def graph(n: int, seed: int = 0) -> sp.csr_array:
    """L/4 of a random graph."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < 0.4, 1).astype(float)
    A += A.T
    return sp.csr_array(np.diag(A.sum(0)) - A) / 4


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


@pytest.mark.parametrize(
    ("curvature", "method"),
    [
        (0.0, InteriorPoint()),
        (0.0, BoundaryPoint()),
        (0.0, AugmentedLagrangian()),
        (0.0, LagrangeNewton()),
        (1.0, DualNewton()),
        (0.0, None),
    ],
)
def test_methods_ask_for_constraints_by_their_member(curvature: float, method) -> None:
    inner = Constrained(QuadraticSDP(None, curvature, -graph(6).toarray()), constraints.diagonal(6, 1.0))
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


def test_without_a_trace_bound_nothing_is_proven_by_a_slack_that_is_not_psd() -> None:
    n = 4
    problem = Constrained(QuadraticSDP(C=np.diag([1.0, 2.0, 3.0, 4.0])), constraints.entries([0], [0], n, 1.0))
    certificate = certify(problem, np.eye(n)[:, :1], dual=np.array([-10.0]))
    assert certificate.dual_value is None
    assert certificate.gap_relative is None
    assert not certificate.proves(0.5)
    given = Constrained(problem.problem, problem.constraints, trace_bound=1.5)
    assert certify(given, np.eye(n)[:, :1], dual=np.array([-10.0])).constraints.trace_source == "given"


def test_scaling_one_constraint_changes_nothing() -> None:
    L = graph(10, 4)
    i = np.arange(10)
    s = np.where(i == 3, 1e5, 1.0)
    forms = constraints.SparseForms(i, i, np.diag(s), 10)
    plain = solve(Constrained(QuadraticSDP(C=-L / 2), constraints.diagonal(10, 1.0)))
    scaled = solve(Constrained(QuadraticSDP(C=-L / 2), constraints.sparse_forms(forms, s)))
    assert scaled.status is Status.OPTIMAL
    assert scaled.value == pytest.approx(plain.value, rel=1e-9)
    missed, expected = (each.certificate.constraints.primal_infeasibility for each in (scaled, plain))
    assert missed == pytest.approx(expected, rel=1e-3)


def test_contradictory_constraints_are_infeasible_with_a_proof() -> None:
    n = 5
    problem = Constrained(
        QuadraticSDP(C=np.eye(n)), [constraints.trace(n, 1.0), constraints.entries([0], [0], n, lower=2.0)]
    )
    result = solve(problem, max_iterations=300)
    assert result.status is Status.INFEASIBLE
    y = result.certificate.constraints.infeasibility_proof
    assert np.array_equal(y, problem.admissible(y))
    lowest = np.linalg.eigvalsh(problem.forms.matrix(y).toarray())[0]
    assert problem.support(y) < min(0.0, lowest) * 1.0  # every feasible M has trace 1


def test_methods_that_know_no_constraints_refuse() -> None:
    problem = Constrained(QuadraticSDP(C=np.eye(3)), constraints.trace(3, 1.0))
    with pytest.raises(IncompatibleError, match="these work: AugmentedLagrangian"):
        solve(problem, FlatQuotient(3, 2), ConjugateGradient())


def test_any_factor_method_may_do_the_work_inside() -> None:
    L = graph(10, 8)
    problem = Constrained(QuadraticSDP(C=-L / 2), constraints.diagonal(10, 1.0))
    values = [
        solve(problem, FlatQuotient(10, 6), AugmentedLagrangian(inside, 40), tol=1e-5).value
        for inside in (None, LBFGS(), ConjugateGradient())
    ]
    assert np.ptp(values) <= 3e-5 * abs(values[0])


def test_the_rank_grows_until_the_certificate_holds() -> None:
    L = graph(14, 9)
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


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: constraints.entries([3], [0], 3, 1.0), InvalidInputError, "between 0 and 2"),
        (lambda: constraints.entries([], [], 3, 1.0), InvalidInputError, "at least one"),
        (lambda: constraints.sparse_forms([]), InvalidInputError, "at least one"),
        (lambda: Constrained(QuadraticSDP(C=np.eye(2)), []), InvalidInputError, "at least one"),
        (lambda: Constrained(QuadraticSDP(C=np.eye(2)), constraints.trace(3, 1.0)), InvalidInputError, "order 2"),
        (lambda: certify(Constrained(QuadraticSDP(C=np.eye(2)), constraints.trace(2, 1.0)), np.eye(2), dual=[1.0, 2.0]),
         InvalidInputError, "1 finite multipliers"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_error(make, error, words) -> None:
    with pytest.raises(error, match=words):
        make()


def test_huge_multipliers_of_a_homogeneous_equation_do_not_spoil_the_bound() -> None:
    # ⟨ee', M⟩ = 0 has no strictly feasible point: its multiplier may be huge, and rounding of S with it
    n = 100
    L = graph(n, 3)
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
