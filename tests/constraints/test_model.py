"""Constrained problems: what they know of themselves, methods that ask for them, shared numbers, refusals."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import psdopt.constraints
import psdopt.methods
from psdopt import LBFGS, Constrained, Duality, Evaluation, Problem, Status, certify, constraints, solve
from psdopt.constraints import OffersConstraints, constrained_of, limits
from psdopt.constraints.constraint import HUGE
from psdopt.contracts.abilities import Ability
from psdopt.contracts.constrained_fit import ConstrainedFit
from psdopt.errors import IncompatibleError, InvalidInputError, InvalidTypeError
from psdopt.geometries import FlatQuotient
from psdopt.methods import AugmentedLagrangian, BoundaryPoint, ConjugateGradient, DualNewton, InteriorPoint
from psdopt.problems import QuadraticSDP
from tests.graphs import random_laplacian
from tests.instances import symmetric

N = 4
Y = np.random.default_rng(0).standard_normal((N, 2))
M = Y @ Y.T


def program(**options) -> Constrained:
    """An equation, a lower bound, an upper bound and an interval on entries, beside a fixed trace."""
    groups = [
        constraints.trace(N, 2.0),
        constraints.entries([0, 1, 2], [0, 2, 3], N, lower=[0.5, -np.inf, -1.0], upper=[np.inf, 0.0, 1.0]),
    ]
    return Constrained(QuadraticSDP(C=np.diag([1.0, 2.0, 3.0, 4.0])), groups, **options)


def test_groups_are_measured_one_after_the_other() -> None:
    problem = program()
    assert (problem.m, problem.n) == (4, N)
    assert np.allclose(problem.measured(Y), [np.trace(M), M[0, 0], M[1, 2], M[2, 3]], rtol=1e-13)
    assert np.allclose(problem.at(Y).measured, problem.measured(Y), rtol=0, atol=0)
    assert np.allclose(problem.norms, [2.0, 1.0, np.sqrt(0.5), np.sqrt(0.5)], rtol=1e-14)
    assert problem.homogeneous.tolist() == [False, False, False, False]


def test_the_violation_is_what_the_nearest_bound_lacks_with_a_sign() -> None:
    problem = program()
    a = np.array([2.5, 0.2, 0.3, -1.5])
    assert np.allclose(problem.violation(a), [0.5, -0.3, 0.3, -0.5], rtol=0, atol=1e-15)
    assert np.array_equal(problem.violation(np.array([2.0, 9.0, -9.0, 0.0])), np.zeros(4))


def test_the_best_multiple_is_the_least_distance_of_any() -> None:
    problem, here = program(), program().at(Y)
    alpha = here.best_multiple()
    a, scale = here.measured, 1.0 / problem.norms

    def distance(factor: float) -> float:
        return float(np.linalg.norm(scale * problem.violation(factor * a)))

    others = [distance(factor) for factor in np.linspace(0.01, 5.0, 400)]
    assert distance(alpha) <= min(others) * (1.0 + 1e-2) + 1e-12


def test_abilities_are_those_that_survive() -> None:
    linear, curved = program(), Constrained(QuadraticSDP(B=1.0, n=N), constraints.diagonal(N, 1.0))
    assert {Ability.CONSTRAINTS, Ability.CONIC, Ability.CONVEX} <= linear.abilities
    assert Ability.CONIC not in curved.abilities
    assert {Ability.NEAREST, Ability.CONSTRAINED_FIT} <= curved.abilities
    assert curved.nearest is not None
    assert linear.nearest is None
    assert Constrained(QuadraticSDP(B=1.0, n=N), constraints.diagonal(N, upper=1.0)).nearest is None  # no equations


def test_a_face_is_found_and_only_zero_may_be_left_of_it() -> None:
    two = Constrained(QuadraticSDP(C=np.eye(N)), [constraints.entries([0], [0], N, 0.0), constraints.trace(N, 1.0)])
    assert two.face.order == N - 1
    assert not two.only_zero
    assert two.on_face.n == N - 1
    assert program().face is None
    assert program().on_face is program().on_face or program().face is None
    assert Constrained(QuadraticSDP(C=np.eye(N)), constraints.trace(N, 0.0)).only_zero


def test_what_is_shown_is_the_problem_with_the_face_that_no_search_finds() -> None:
    """M_00 = 0 is seen; that M_22 = 0 follows from three equations takes a search; a fixed diagonal has no face."""
    seen = Constrained(QuadraticSDP(C=np.eye(N)), [constraints.entries([0], [0], N, 0.0), constraints.trace(N, 1.0)])
    assert seen.shown.face.order == N - 1
    assert "face" not in vars(seen)
    assert seen.face.order == N - 1
    held = Constrained(QuadraticSDP(C=np.eye(N)), constraints.diagonal(N, 1.0))
    assert held.shown.face is None
    sought = searched()
    first = sought.shown
    assert first.face is None
    assert first.forms is sought.forms
    assert sought.face.searched
    assert sought.shown is first
    assert first.trace_limit is None or first.trace_limit.value == sought.trace_limit.value
    again = searched()
    assert again.face.searched
    assert again.carried is not None
    assert again.shown.face is None
    assert again.shown.carried is None
    assert again.shown.on_face is again.problem
    settled = Constrained(QuadraticSDP(C=np.eye(N)), [constraints.entries([0], [0], N, 0.0), constraints.trace(N, 1.0)])
    assert settled.face is not None
    assert settled.shown is settled


def searched() -> Constrained:
    """Three equations in turned axes whose sum with weights is a matrix of rank two, and none of whose b is zero."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((N, N)))[0]
    U, W = Q[:, :2], Q[:, 2:]
    A = [symmetric(rng, N) for _ in range(3)]
    A[0] = (U @ U.T - 1.3 * A[1] + 0.7 * A[2]) / 0.9
    R = rng.standard_normal((N - 2, N - 2))
    b = [np.sum(each * (W @ R @ R.T @ W.T)) for each in A]
    return Constrained(QuadraticSDP(C=np.eye(N)), constraints.sparse_forms(A, b))


def random_problem(curved: bool, seed: int = 0) -> Constrained:
    rng = np.random.default_rng(seed)
    n = 6
    forms = []
    for scale in (1.0, 30.0, 0.02, 5.0):
        G = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.5)
        forms.append(scale * (G + G.T + np.eye(n)))
    G = rng.standard_normal((n, n))
    F = QuadraticSDP(A=G @ G.T / n, B=0.4, C=G + G.T) if curved else QuadraticSDP(C=G + G.T)
    return Constrained(
        F, constraints.sparse_forms(forms, lower=[0.0, 1.0, -np.inf, 2.0], upper=[0.0, 1.0, 3.0, np.inf])
    )


@pytest.mark.parametrize("curved", [False, True])
def test_the_members_are_what_they_say(curved) -> None:
    rng = np.random.default_rng(1)
    problem = random_problem(curved)
    fit = problem.constrained_fit()
    forms = [problem.forms.matrix(e).toarray() for e in np.eye(4)]
    here, rows = problem.at(rng.standard_normal((6, 3))), np.array([0, 2, 3])
    tied = fit.tied(here, rows)
    G, H = rng.standard_normal((2, 6, 6))
    P, Q = G @ G.T, H @ H.T
    K = np.array([[np.trace(forms[s] @ P @ forms[t] @ Q) for t in rows] for s in rows])
    x = rng.standard_normal(3)
    assert np.allclose(tied.solver(P, Q, np.empty((3, 3)))(K @ x), x, rtol=1e-8)
    assert len(fit.tied(here, rows[:0]).solver(P, Q, np.empty((0, 0)))(np.zeros(0))) == 0


def test_rows_that_are_tied_change_with_the_call() -> None:
    problem = random_problem(False)
    fit = problem.constrained_fit()
    first = fit.coupled(np.array([0, 1]))
    assert fit.coupled(np.array([0, 1])) is first
    assert fit.coupled(np.array([0, 3])) is not first


def two(groups, unit: float = 1.0) -> Constrained:
    return Constrained(QuadraticSDP(C=unit * np.eye(2)), groups)


@pytest.mark.parametrize(("make", "words"), [
    (lambda: constraints.entries([3], [0], 3, 1.0), "between 0 and 2"),
    (lambda: constraints.entries([], [], 3, 1.0), "at least one"),
    (lambda: constraints.sparse_forms([]), "at least one"),
    (lambda: two([]), "at least one"),
    (lambda: two(constraints.trace(3, 1.0)), "order 2"),
    (lambda: certify(two(constraints.trace(2, 1.0)), np.eye(2), dual=[1.0, 2.0]), "1 finite multipliers"),
    (lambda: program(trace_bound=0.0), "trace_bound"),
    (lambda: two(constraints.sparse_forms([np.eye(2), 0 * np.eye(2)], 1.0)),
     r"constraint 1 has a form that is zero or whose squared entries underflow, and bounds \[1, 1\] without 0"),
    (lambda: two(constraints.quadratic_forms(1e-100 * np.eye(2), 1.0)), "constraint 0 .* squared entries underflow"),
    (lambda: two(constraints.diagonal(2, 1e200)), re.escape(f"bounds must be at most {HUGE:g} in size; found 1e+200")),
    (lambda: two(constraints.diagonal(2, 1.0), unit=1e150), "the entries of C must be at most"),
    (lambda: two(constraints.sparse_forms([1e120 * np.eye(2)], 1.0)), "the entries of the forms must be at most"),
    (lambda: two(constraints.sparse_forms([1e-90 * np.eye(2)], 1e20)), r"bounds next to \|A_t\| must be at most"),
])  # fmt: skip
def test_what_cannot_be_is_refused_by_name(make, words) -> None:
    with pytest.raises(InvalidInputError, match=words):
        make()


def test_wrong_kinds_are_refused_by_name() -> None:
    for problem, groups, words in (
        (program(), constraints.trace(N, 1.0), "all constraints at once"), (program().problem, "trace", "constraints"),
        (np.eye(2), constraints.trace(2, 1.0), "problem"),
    ):  # fmt: skip
        with pytest.raises(InvalidTypeError, match=words):
            Constrained(problem, groups)


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


LINEAR = [None, InteriorPoint(), BoundaryPoint(), AugmentedLagrangian()]


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


@pytest.mark.parametrize("method", [AugmentedLagrangian()])
def test_a_checkpoint_does_not_hold_the_objective(tmp_path, method) -> None:
    n, path = 100, tmp_path / "run.psdopt"
    C = np.random.default_rng(0).standard_normal((n, n))
    problem = Constrained(QuadraticSDP(C=C + C.T), constraints.diagonal(n, 1.0))
    solve(problem, FlatQuotient(n, 2), method, max_iterations=1, checkpoint=path)
    assert path.stat().st_size < C.nbytes


NAMES = {name for name, value in vars(limits).items() if name.isupper() and isinstance(value, float | int)} - {"EPS"}
FOLDERS = [Path(str(package.__file__)).parent for package in (psdopt.constraints, psdopt.methods)]


@pytest.mark.parametrize("path", [p for folder in FOLDERS for p in sorted(folder.glob("*.py"))], ids=lambda p: p.name)
def test_a_shared_number_is_bound_once(path: Path) -> None:
    body = [] if path.name == "limits.py" else ast.parse(path.read_text("utf-8")).body
    targets = [target for node in body for target in getattr(node, "targets", [getattr(node, "target", node)])]
    bound = {
        part.id
        for node in targets
        if isinstance(node, ast.expr)
        for part in ast.walk(node)
        if isinstance(part, ast.Name)
    }
    assert not bound & NAMES
    assert "FLOPS" in NAMES
