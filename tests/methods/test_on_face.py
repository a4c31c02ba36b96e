"""Curved F on a face: proven optima, methods that agree, multipliers of the problem itself, resumption, refusals."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import AutogradProblem, Constrained, QuadraticSDP, State, Status, certify, constraints, solve
from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.certificates.constrained.slack import slack_operator
from psdopt.errors import IncompatibleError
from psdopt.geometries import FlatQuotient, PSDCone
from psdopt.methods import AugmentedLagrangian, on_face
from psdopt.methods.on_face import OnFace
from psdopt.running.choose import choose
from psdopt_plugins.kernel_learning import pairwise_kernel_problem


def path_kernel(n: int, rng: np.random.Generator) -> object:
    """Smooth over a path, with n pairs that are near 0 or 1."""
    L = np.diag([1.0, *[2.0] * (n - 2), 1.0]) - np.eye(n, k=1) - np.eye(n, k=-1)
    i, j = np.triu_indices(n, 1)
    some = rng.choice(len(i), n, replace=False)
    pairs = list(zip(i[some].tolist(), j[some].tolist(), strict=True))
    return pairwise_kernel_problem(L, pairs, (rng.random(n) < 0.5).astype(float).tolist(), 10.0)


def linked(kind: str, n: int, seed: int) -> Constrained:
    """A random F under must-links that hold exactly, with a bounded diagonal, a fixed trace, both, or neither."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((n, n))
    if kind == "pairs":
        F = path_kernel(n, rng)
    elif kind == "quadratic":
        F = QuadraticSDP(A=G @ G.T / n, B=0.1 * np.eye(n), C=G + G.T)
    else:
        K = G @ G.T / n
        F = AutogradProblem(lambda M: ((M - K) ** 4).sum() + ((M - K) ** 2).sum(), n, convex=True)
    i = rng.choice(n, max(1, n // 5), replace=False)
    groups = [constraints.distances(i, (i + 1 + rng.integers(0, n - 2, len(i))) % n, 0.0, n=n)]
    groups += [constraints.diagonal(n, upper=1.0)] if seed % 3 != 2 else []
    groups += [constraints.trace(n, n / 2)] if seed % 3 == 1 else []
    return Constrained(F, groups)


@pytest.mark.parametrize("kind", ["pairs", "quadratic", "autograd"])
@pytest.mark.parametrize("seed", range(4))
def test_random_objectives_under_exact_links_are_proven_optimal_in_few_steps(kind, seed) -> None:
    problem = linked(kind, 12, seed)
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.iterations <= 40
    by_rounds = solve(problem, method=AugmentedLagrangian())
    assert by_rounds.status is Status.OPTIMAL
    scale = max(abs(result.value), abs(result.value - problem.value_at_zero()))
    assert by_rounds.value == pytest.approx(result.value, abs=3e-6 * scale)
    y = result.certificate.constraints.multipliers
    assert certify(problem, result.matrix, dual=y).proves(1e-6)  # of the problem itself, not of N
    evaluation = problem.at(result.matrix.factor)
    S = slack_operator(problem, evaluation, y) @ np.eye(12)
    rounding = 1e-14 * np.linalg.norm(S)
    assert np.linalg.eigvalsh(S)[0] >= -1e-6 * (1.0 + np.linalg.norm(evaluation.gradient @ np.eye(12))) - rounding
    M = result.matrix.to_dense()
    assert np.all(np.abs(problem.measured(result.matrix.factor)[problem.face.rows]) <= 1e-12 * np.trace(M))


def test_the_methods_take_the_form_by_themselves() -> None:
    curved, n = linked("quadratic", 8, 0), 8
    linear = Constrained(QuadraticSDP(C=np.eye(n)), curved.constraints)
    balanced = [constraints.diagonal(90, 1.0), constraints.sparse_forms([np.ones((90, 90))], 0.0)]
    dense = Constrained(QuadraticSDP(C=np.eye(90)), balanced)
    without = Constrained(curved.problem, constraints.diagonal(n, upper=1.0))
    method = AugmentedLagrangian()
    assert isinstance(method.on(curved), OnFace)
    assert method.on(curved).name == "AugmentedLagrangian"
    assert isinstance(method.on(linear), OnFace)
    assert not isinstance(method.on(dense), OnFace)  # the entries of the constraints are many there, F is linear
    assert not isinstance(method.on(without), OnFace)
    assert choose(curved, None, None)[1] == AugmentedLagrangian()


def test_balanced_factors_have_dense_bases() -> None:
    n, rng = 60, np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    F = QuadraticSDP(A=np.eye(n) + X @ X.T / n, C=np.eye(n) - X @ X.T)
    problem = Constrained(F, [constraints.diagonal(n, 1.0), constraints.sparse_forms([np.ones((n, n))], 0.0)])
    assert problem.carried is None  # the entries of the constraints would be too many: W makes their products
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert np.linalg.norm(result.matrix.factor.sum(axis=0)) <= 1e-10 * n
    other = solve(problem, method=AugmentedLagrangian(), tol=1e-4)
    assert other.status is Status.OPTIMAL
    assert other.value == pytest.approx(result.value, rel=3e-4)


def test_links_of_many_rows_keep_a_sparse_basis() -> None:
    n = 5000
    i = np.arange(0, n - 1, 2)
    problem = Constrained(QuadraticSDP(C=sp.eye_array(n)), constraints.distances(i, i + 1, 0.0, n=n))
    W = problem.face.within
    assert W.shape == (n, n // 2)
    assert W.nnz == n


@pytest.mark.parametrize("method", [None, AugmentedLagrangian()])
def test_runs_are_resumed_where_they_stopped(method, tmp_path) -> None:
    problem, path = linked("pairs", 10, 3), tmp_path / "run.ck"
    seen: list[float] = []
    cut = solve(
        problem, method=method, max_iterations=3, checkpoint=path, callback=lambda s: bool(seen.append(s.value))
    )
    assert cut.status is Status.ITERATION_LIMIT
    assert len(seen) == 3
    resumed, whole = solve(problem, method=method, resume=path), solve(problem, method=method)
    assert resumed.iterations == whole.iterations
    assert resumed.value == whole.value
    assert len(whole.history) == whole.iterations + 1


def test_starts_and_ranks_of_the_caller_are_kept() -> None:
    problem, rng = linked("quadratic", 9, 0), np.random.default_rng(2)
    for rank in (2, 9):
        Y = rng.standard_normal((9, rank))
        result = solve(problem, FlatQuotient(9, rank), AugmentedLagrangian(), start=Y)
        assert result.matrix.factor.shape == (9, rank)
        assert result.status in (Status.OPTIMAL, Status.STATIONARY, Status.NO_PROGRESS)
        assert result.certificate.constraints.primal_infeasibility <= 1e-5
    assert solve(problem, FlatQuotient(9, 9), start=np.eye(9)).status is Status.OPTIMAL


def test_infeasibility_that_only_the_face_shows_is_proven() -> None:
    # M_00 = 0 forces M_01 = 0: no multipliers prove it without the face, as the set of values is not closed
    n = 4
    for F in (QuadraticSDP(C=np.eye(n)), QuadraticSDP(A=np.eye(n), C=-np.ones((n, n)))):
        problem = Constrained(F, constraints.entries([0, 0], [0, 1], n, [0.0, 1.0]))
        for method in (None, AugmentedLagrangian()):
            result = solve(problem, method=method)
            assert result.status is Status.INFEASIBLE
            assert result.certificate.constraints.infeasibility_proof.tolist() == [0.0, -1.0]


def test_it_refuses_problems_without_a_face() -> None:
    problem = Constrained(QuadraticSDP(C=np.eye(3)), constraints.diagonal(3, 1.0))
    with pytest.raises(IncompatibleError, match="no face to reduce to"):
        solve(problem, method=OnFace(AugmentedLagrangian()))
    curved = linked("quadratic", 6, 0)
    with pytest.raises(IncompatibleError):
        solve(curved, method=OnFace(choose(problem, None, None)[1]))


@pytest.mark.parametrize(
    ("geometry", "columns", "rank"),
    [(FlatQuotient(6, 3), 3, 3), (FlatQuotient(6, 2), 2, 2), (FlatQuotient(6, 1), 2, 2), (PSDCone(6), 2, None)],
)
def test_a_factor_from_the_face_has_the_columns_of_the_geometry_or_more(geometry, columns, rank) -> None:
    """M = W N Wᵀ, with columns of zeros where the geometry has more, and a wider geometry where it has fewer."""
    held = [constraints.entries([5], [5], 6, 0.0), constraints.trace(6, 2.0)]
    problem = Constrained(QuadraticSDP(C=np.eye(6)), held)
    reduction = on_face.reduction_of(problem)
    Z, D = np.random.default_rng(0).standard_normal((2, 5, 2))
    small = reduction.problem
    inner = State(
        small, FlatQuotient(5, 2), Z, small.at(Z), gradient_norm=0.25, step=0.5, extras={"a": 1.0}, ray=D,
        dual=Multipliers(np.array([1.0, 2.0]), direction=D),
    )  # fmt: skip
    state = on_face._carried_back(problem, geometry, reduction, inner)
    W = np.asarray(reduction.W @ np.eye(5))
    Y = state.evaluation.factor
    assert Y.shape == (6, columns)
    assert state.geometry.rank == rank
    np.testing.assert_allclose(Y @ Y.T, W @ Z @ Z.T @ W.T, atol=1e-12)
    assert np.abs(Y[5]).max() <= 1e-15
    assert (state.gradient_norm, state.step, state.extras) == (0.25, 0.5, {"a": 1.0})
    np.testing.assert_allclose(state.ray, W @ D)
    np.testing.assert_allclose(state.dual.direction, W @ D)
    np.testing.assert_array_equal(state.dual.y, [1.0, 2.0])
