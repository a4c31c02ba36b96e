"""Standard form: the same objective and constraints, scaled, in units of the rows of M, block by block."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.central_path.coupled_systems import schur_solver
from psdopt.constraints.central_path.orthant import OrthantMetric
from psdopt.constraints.central_path.semidefinite import Semidefinite, SemidefiniteMetric
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.conic import Conic
from psdopt.linalg.arrays import norm


def conic_of(seed: int = 0) -> Conic:
    """Blocks of orders 3 and 2 and a single row; an equation, a lower and an upper bound, and an interval."""
    rng = np.random.default_rng(seed)

    def blocks() -> sp.csr_array:
        parts = []
        for size in (3, 2, 1):
            A = 4.0 * rng.standard_normal((size, size))
            parts.append(A + A.T)
        return sp.csr_array(block_diag(*parts))

    lower = np.array([2.0, -1.0, -np.inf, 0.5, 3.0])
    upper = np.array([2.0, np.inf, 4.0, 1.5, 3.0])
    forms = [blocks() for _ in range(5)]
    return Constrained(QuadraticSDP(C=0.5 * blocks()), constraints.sparse_forms(forms, lower=lower, upper=upper)).conic


def primal(form: StandardForm, seed: int) -> list[np.ndarray]:
    """Random matrices by orders, and numbers of the linear part, which comes last."""
    rng = np.random.default_rng(seed)
    X = []
    for part in form.parts[:-1]:
        G = rng.standard_normal(part.C.shape)
        X.append(G @ G.mT)
    return [*X, rng.random(form.parts[-1].degree)]


def test_rows_are_scaled_equations_with_a_surplus_of_lower_and_a_slack_of_upper_bounds() -> None:
    conic = conic_of()
    form = StandardForm(conic)
    *matrices, linear = form.parts
    assert [(part.count, part.size) for part in matrices] == [(1, 2), (1, 3)]
    assert linear.rows.tolist() == [5]
    assert form.m == 6  # two equations, two lower and two upper bounds
    assert (len(linear.C), form.order) == (1 + 4, 5 + 5)
    assert norm(form.b) == pytest.approx(1.0)
    X = primal(form, 1)
    Y, slacks, x = form.factor(X), linear.B.toarray()[:, 1:], X[-1]
    a = np.asarray(conic.forms.B @ (Y @ Y.T)[conic.forms.i, conic.forms.j])
    found = form.measure(X)
    assert np.allclose(found, sum(part.measure(P) for part, P in zip(form.parts, X, strict=True)), rtol=0, atol=1e-12)
    expected = a[form.source] * form.row_scale / form.beta + slacks @ x[1:]
    assert np.allclose(found, expected, rtol=0, atol=1e-12)
    assert np.array_equal(np.abs(slacks).sum(axis=0), np.ones(4))
    sign, lower, upper = slacks.sum(axis=1), conic.lower[form.source], conic.upper[form.source]
    assert np.array_equal(sign == 0.0, lower == upper)
    assert np.allclose(form.b * form.beta / form.row_scale, np.where(sign < 0.0, lower, upper), rtol=1e-9, atol=0)


def test_multipliers_make_the_slack_of_the_problem_itself() -> None:
    conic = conic_of(3)
    form = StandardForm(conic)
    v = np.random.default_rng(4).standard_normal(form.m)
    S = conic.slack(form.multipliers(v)).toarray()
    *matrices, linear = form.parts
    slacks = form.slacks(v)
    assert len(slacks) == 3
    for part, Z in zip(matrices, slacks, strict=False):
        expected = form.gamma * (part.C - part.adjoint(v))
        assert np.allclose(form.gamma * Z, expected, rtol=0, atol=1e-12 * norm(expected))
        (rows,) = part.rows
        assert np.allclose(S[np.ix_(rows, rows)], expected[0], rtol=0, atol=1e-12 * norm(expected))
    singles = form.gamma * (linear.C - linear.back @ v)[: len(linear.rows)]
    assert np.allclose(S[linear.rows, linear.rows], singles, rtol=0, atol=1e-12)
    assert np.allclose(slacks[-1], linear.C - linear.back @ v, rtol=0, atol=1e-12)


def test_factors_have_the_blocks_side_by_side() -> None:
    form = StandardForm(conic_of(8))
    X = primal(form, 9)
    M = form.factor(X) @ form.factor(X).T
    *matrices, linear = form.parts
    for part, P in zip(matrices, X, strict=False):
        (rows,) = part.rows
        assert np.allclose(M[np.ix_(rows, rows)], form.beta * P[0], rtol=1e-12, atol=1e-12)
    assert M[5, 5] == pytest.approx(form.beta * X[-1][0])
    assert linear.rows.tolist() == [5]
    roots = form.assembled([*(np.linalg.cholesky(P) for P in X[:-1]), np.sqrt(X[-1])])
    for rows in conic_of(8).blocks:
        assert np.allclose(roots[rows] @ roots[rows].T, M[np.ix_(rows, rows)], rtol=0, atol=1e-11)


def repeated_orders(sizes: tuple[int, ...] = (3, 1, 2, 3, 2, 3, 1)) -> tuple[Conic, list[np.ndarray]]:
    """Constraints on blocks of these orders, rows of M in a random order, and the rows of each block."""
    rng = np.random.default_rng(11)
    order = rng.permutation(sum(sizes))
    rows = [np.sort(each) for each in np.split(order, np.cumsum(sizes)[:-1])]

    def blocks() -> np.ndarray:
        A = np.zeros((len(order), len(order)))
        for at in rows:
            G = rng.standard_normal((len(at), len(at)))
            A[np.ix_(at, at)] = G + G.T
        return A

    forms = [sp.csr_array(blocks()) for _ in range(4)]
    lower, upper = np.array([1.0, -1.0, 0.0, -np.inf]), np.array([1.0, 1.0, np.inf, 0.5])
    group = constraints.sparse_forms(forms, lower=lower, upper=upper)
    return Constrained(QuadraticSDP(C=0.5 * blocks()), group).conic, rows


@pytest.mark.parametrize("together", [True, False])
def test_blocks_of_one_order_are_one_part_that_measures_as_the_whole(together, monkeypatch) -> None:
    """As long as all products of their entries fit; else they are apart."""
    if not together:
        monkeypatch.setattr("psdopt.constraints.central_path.standard.NUMBERS", 100)
    conic, rows = repeated_orders()
    form = StandardForm(conic)
    *matrices, linear = form.parts
    counts = [(part.count, part.size) for part in matrices]
    assert counts == ([(2, 2), (3, 3)] if together else [(1, 2), (1, 2), (1, 3), (1, 3), (1, 3)])
    assert (form.units, form.order) == (None, 15 + 4)  # with the slacks of an interval and two bounds
    held = [tuple(at) for part in matrices for at in part.rows.tolist()]
    assert sorted(held) == sorted(tuple(at) for at in map(np.ndarray.tolist, rows) if len(at) > 1)
    assert sorted(linear.rows.tolist()) == sorted(int(at[0]) for at in rows if len(at) == 1)
    X = primal(form, 2)
    M = np.zeros((conic.n, conic.n))
    for part, P in zip(matrices, X, strict=False):
        for at, each in zip(part.rows, P, strict=True):
            M[np.ix_(at, at)] = each
    M[linear.rows, linear.rows] = X[-1][:2]
    slacks = linear.B.toarray()[:, 2:] @ X[-1][2:]
    expected = form.row_scale * (conic.forms.B @ M[conic.forms.i, conic.forms.j])[form.source] + slacks
    assert np.allclose(form.measure(X), expected, rtol=0, atol=1e-12)
    Y = form.factor(X)
    inside = M != 0.0
    assert np.allclose((Y @ Y.T)[inside], form.beta * M[inside], rtol=0, atol=1e-12)
    v = np.random.default_rng(3).standard_normal(form.m)
    S = conic.slack(form.multipliers(v)).toarray()
    for part, Z in zip(matrices, form.slacks(v), strict=False):
        for at, each in zip(part.rows, Z, strict=True):
            assert np.allclose(S[np.ix_(at, at)], form.gamma * each, rtol=0, atol=1e-12 * norm(S))


def test_the_normal_equations_are_those_of_all_parts() -> None:
    form = StandardForm(repeated_orders()[0])
    A = [[part.adjoint(e) for part in form.parts] for e in np.eye(form.m)]
    gram = np.array([[sum(np.sum(P * Q) for P, Q in zip(a, b, strict=True)) for b in A] for a in A])
    x = np.random.default_rng(0).standard_normal(form.m)
    assert np.allclose(form.normal_factor.solve(gram @ x), x, rtol=0, atol=1e-9)


def test_rows_of_single_entries_come_first_diagonal_ones_before_others() -> None:
    n = 4
    groups = [
        constraints.sparse_forms([np.ones((n, n))], 5.0),
        constraints.entries([0, 1, 2], [2, 1, 3], n, 0.0),
        constraints.diagonal(n, 1.0),
        constraints.entries([0], [1], n, upper=3.0),
    ]
    conic = Constrained(QuadraticSDP(C=np.eye(n)), groups).conic
    assert StandardForm(conic).source.tolist() == [2, 4, 5, 6, 7, 1, 3, 0, 8]


def test_forms_that_are_zero_and_an_objective_of_zero_are_not_divided_by() -> None:
    forms = [np.zeros((2, 2)), np.eye(2)]
    conic = Constrained(QuadraticSDP(C=np.zeros((2, 2))), constraints.sparse_forms(forms, [0.0, 0.0])).conic
    form = StandardForm(conic, smallest=False)
    assert form.flat
    assert (form.beta, form.gamma) == (1.0, 1.0)
    assert np.all(np.isfinite(form.row_scale))


def test_of_a_constant_objective_the_trace_is_the_cost() -> None:
    conic = Constrained(QuadraticSDP(C=np.zeros((3, 3))), constraints.entries([0], [1], 3, 1.0)).conic
    form = StandardForm(conic)
    assert form.flat
    assert sum(float(np.sum(part.C**2)) for part in form.parts) == pytest.approx(1.0)
    assert not StandardForm(Constrained(QuadraticSDP(C=np.eye(3)), constraints.trace(3, 1.0)).conic).flat


def test_factors_on_a_face_are_those_of_the_whole() -> None:
    W = sp.csr_array(np.linalg.qr(np.random.default_rng(0).standard_normal((4, 2)))[0])
    there = Constrained(QuadraticSDP(C=np.eye(2)), constraints.sparse_forms([np.ones((2, 2))], 1.0)).conic
    form = StandardForm(there, W)
    X = [np.array([[[2.0, 0.5], [0.5, 1.0]]])]
    Y = form.factor(X)
    assert np.allclose(Y @ Y.T, form.beta * (W @ X[0][0] @ W.T), rtol=0, atol=1e-13)
    assert form.trace(Y) == pytest.approx(form.beta * 3.0)


def with_forms(forms, lower, upper=None):
    lower = np.asarray(lower, dtype=float)
    n = len(forms[0])
    group = constraints.sparse_forms(
        [np.asarray(A, dtype=float) for A in forms], lower=lower, upper=lower if upper is None else upper
    )
    return Constrained(QuadraticSDP(C=np.ones((n, n))), group).conic


def test_units_are_the_sizes_that_constraints_leave() -> None:
    one = with_forms([np.diag([2.0**-20, 1.0, 4.0])], [1.0])
    assert one.row_units().tolist() == [2.0**10, 1.0, 0.5]
    each = with_forms(list(np.eye(3)[:, :, None] * np.eye(3)[:, None]), [2.0**12, 1.0, 2.0**-4])
    assert each.row_units().tolist() == [2.0**6, 1.0, 0.25]
    # the smaller bound counts; a row of M in no such constraint has the median
    two = with_forms([np.diag([1.0, 0.0, 0.0]), np.diag([0.0, 1.0, 0.0])], [1.0, 1.0], [1.0, 1e10])
    assert two.row_units().tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("forms", "bounds"), [
    ([np.eye(3)], [7.0]),  # all alike
    ([np.diag([1e-8, 0.0, 1.0])], [0.0]),  # no bound
    ([np.diag([1e-8, -1.0, 1.0])], [1.0]),  # M may be of any size
    ([np.array([[0.0, 1e8, 0.0], [1e8, 0.0, 0.0], [0.0, 0.0, 0.0]])], [1.0]),
])  # fmt: skip
def test_where_constraints_tell_no_row_from_another_units_are_one(forms, bounds) -> None:
    conic = with_forms(forms, bounds)
    assert np.all(conic.row_units() == 1.0)
    assert StandardForm(conic).units is None


def test_the_problem_is_the_same_in_other_units() -> None:
    conic = with_forms([np.diag([2.0**-20, 1.0, 4.0]), np.ones((3, 3))], [1.0, 3.0])
    d = conic.row_units()
    other = conic.in_units(d)
    N = np.array([[1.0], [2.0], [3.0]])
    y = np.array([0.5, -2.0])
    assert np.array_equal(other.slack(y).toarray(), conic.slack(y).toarray() * np.outer(d, d))
    form = StandardForm(conic)
    X = [(N @ N.T)[None]]
    Y = form.factor(X)
    assert np.allclose(Y @ Y.T, form.beta * np.outer(d, d) * X[0][0], rtol=1e-12)
    assert form.trace(Y) == pytest.approx(form.beta * 14.0)
    measured = conic.forms.B @ (Y @ Y.T)[conic.forms.i, conic.forms.j]
    expected = np.linalg.norm(form.b - form.row_scale * measured / form.beta)
    assert np.linalg.norm(form.b - form.measure(X)) == pytest.approx(expected)


def bounded_entries(n: int) -> Conic:
    """|M_ij| <= u_ij for all i < j, the u_ij >= 0 behind M: equations of M_ij, u_ij and two slacks, two by two."""
    i, j = np.triu_indices(n, 1)
    p = len(i)
    u, s, t = n + np.arange(p), n + p + np.arange(p), n + 2 * p + np.arange(p)
    rows = np.arange(p)
    places = [np.concatenate([i, u, s, t]), np.concatenate([j, u, s, t])]
    B = sp.hstack([0.5 * sp.eye_array(p), sp.eye_array(p), -sp.eye_array(p), sp.csr_array((p, p))])
    D = sp.hstack([-0.5 * sp.eye_array(p), sp.eye_array(p), sp.csr_array((p, p)), -sp.eye_array(p)])
    own = sp.csr_array((np.ones(p), (rows, 2 * p + rows)), shape=(p, 4 * p))  # s_ij = 1, a row of its own
    C = sp.csr_array(np.diag(np.r_[np.zeros(n), np.ones(3 * p)]))
    forms = constraints.Constraint(
        constraints.SparseForms(*places, sp.csr_array(sp.vstack([B, D, own])), n + 3 * p),
        np.zeros(3 * p),
        np.zeros(3 * p),
    )
    return Constrained(QuadraticSDP(C=0.5 * C), [forms]).conic


def test_rows_that_meet_no_other_of_them_come_first() -> None:
    n = 12
    p = n * (n - 1) // 2
    form = StandardForm(bounded_entries(n))
    assert form.apart == p
    meet = sum(abs(part.B) @ abs(part.B).T for part in form.parts).toarray()[:p, :p]
    assert np.array_equal(meet != 0.0, np.eye(p, dtype=bool))
    assert sorted(form.source[:p]) == list(range(2 * p, 3 * p))
    assert StandardForm(conic_of()).apart == 0
    assert StandardForm(bounded_entries(3)).apart == 0  # the system is small


def test_the_system_is_solved_alike_with_the_rows_apart_first_or_not() -> None:
    form = StandardForm(bounded_entries(12))
    rng, metrics = np.random.default_rng(5), []
    for part in form.parts:
        if isinstance(part, Semidefinite):
            n = len(part.C[0])
            L, K = (np.tril(rng.standard_normal((1, n, n))) + 4.0 * np.eye(n) for _ in range(2))
            metrics.append(SemidefiniteMetric(part, L @ L.mT, K.mT @ K, L, K))
        else:
            metrics.append(OrthantMetric(part, 10.0 ** rng.uniform(-6.0, 6.0, part.C.size)))
    K = np.zeros((form.m, form.m))
    for k, metric in enumerate(metrics):
        metric.add_to(K, fresh=k == 0)
    K = np.triu(K) + np.triu(K, 1).T
    right = K @ rng.standard_normal(form.m)
    units = np.sqrt(K.diagonal())
    first = schur_solver(form, metrics)(right)
    form.apart = 0
    for w in (first, schur_solver(form, metrics)(right)):
        assert np.linalg.norm((K @ w - right) / units) <= 1e-9 * np.linalg.norm(right / units)
