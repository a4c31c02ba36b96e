"""Functions of M and of the factor in every backend: exact derivatives, refusals, copies, devices, imports."""

import copy
import pickle
import subprocess
import sys

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import (
    LBFGS,
    Ability,
    ConjugateGradient,
    Constrained,
    FlatQuotient,
    FunctionProblem,
    Polar,
    Spectraplex,
    Status,
    TruncatedNewton,
    constraints,
    solve,
)
from psdopt.certificates.convexity import negative_curvature
from psdopt.contracts.gradient import dense_gradient
from psdopt.devices import on_host
from psdopt.errors import InvalidInputError, InvalidTypeError, MissingDependencyError, UnknownNameError
from psdopt.testing import run_checks

from .backends import BACKENDS, FUNCTIONS, N, OfFactor, R, installed, problem, reference

Y, D = np.random.default_rng(0).standard_normal((2, N, R))
V = np.random.default_rng(1).standard_normal((N, 3))
CASES = pytest.mark.parametrize("of", ["matrix", "factor"])
EVERY = pytest.mark.parametrize("backend", BACKENDS)


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@EVERY
@CASES
def test_all_derivatives_are_those_of_the_formula(backend, of):
    here, known = problem(backend, of).at(Y), reference().at(Y)
    same(here.value, known.value)
    same(here.factor_gradient(), known.factor_gradient())
    same(here.gradient @ V, known.gradient @ V)
    same(dense_gradient(here), dense_gradient(known))
    same(here.hessian_vector(D), known.hessian_vector(D))
    line, other = here.along(D), known.along(D)
    same(line.derivatives(0.3), other.derivatives(0.3))
    assert line.step(0.3) is line.step(0.3)
    same(line.step(0.3).value, other.step(0.3).value)
    for alpha, beta in ((1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (0.7, 0.4)):
        for found, expected in zip(
            here.along_atom(V[:, 0]).derivatives(alpha, beta),
            known.along_atom(V[:, 0]).derivatives(alpha, beta),
            strict=True,
        ):
            same(found, expected)


@EVERY
def test_the_factor_without_the_matrix_gives_S_exactly(backend):
    """f([Y, t V]) = F(Y Yᵀ + t² V Vᵀ): the slope in t² is ⟨S V, V⟩, and S V needs no M."""
    case = problem(backend, "factor")
    here = case.at(Y)
    up, down = (reference().at(Y).along_atom(V[:, 0]).value(1.0, h) for h in (1e-4, 0.0))
    assert (case.at(np.hstack([Y, 1e-2 * V[:, :1]])).value - here.value) == pytest.approx(up - down, rel=1e-9)
    same(here.gradient @ V, reference().at(Y).gradient @ V)


@EVERY
@CASES
def test_the_kit_accepts_it(backend, of):
    case = problem(backend, of)
    case.twin = reference()
    assert [record.name for record in run_checks(case) if not record.ok] == []


@pytest.mark.parametrize("of", ["matrix", "factor"])
def test_the_kit_accepts_an_honest_function_that_is_not_convex(of):
    """(tr(M²) − 3)², whose Hessian at small M is negative."""
    square = {"matrix": lambda M: anp.sum(M * M), "factor": lambda Y: anp.sum((Y.T @ Y) ** 2)}[of]
    case = FunctionProblem(lambda x: (square(x) - 3.0) ** 2, 4, of=of)
    assert Ability.CONVEX not in case.abilities
    assert [record.name for record in run_checks(case) if not record.ok] == []
    assert solve(case).status is Status.STATIONARY


@EVERY
@CASES
def test_it_composes_with_methods_geometries_and_constraints(backend, of):
    best = solve(reference())
    for method in (None, LBFGS()):
        found = solve(problem(backend, of), method=method)
        assert found.status is Status.OPTIMAL
        assert found.value == pytest.approx(best.value, rel=1e-6)
    assert solve(problem(backend, of), Polar(N, N)).status is Status.OPTIMAL
    trace = solve(problem(backend, of), Spectraplex(N, 2.0), max_iterations=30)
    fixed = solve(Constrained(problem(backend, of), constraints.trace(N, 2.0)))
    assert fixed.status is Status.OPTIMAL
    assert fixed.value == pytest.approx(trace.value, rel=1e-2)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda Y: anp.sum(anp.tanh(Y)), r"depend on Y Yᵀ alone, f\(Y Q\) = f\(Y\) .*found .* instead of"),
        (lambda Y: anp.sum(Y**2) / Y.shape[1], r"f\(\[Y, 0\] Q\) = f\(Y\) with 3 columns"),
        (lambda Y: anp.sum((anp.dot(Y.T, Y) - np.eye(R)) ** 2), "any number of columns; with 3 it raised ValueError"),
        (lambda Y: Y[0], r"one real number in double precision.*found shape \(2,\), float64"),
        (lambda Y: np.float32(2.0), "found shape .*float32; let its NumPy arrays be float64"),
        (lambda Y: 2j, "found shape .*complex"),
    ],
)
def test_what_is_no_function_of_the_matrix_is_refused(function, message):
    with pytest.raises(InvalidInputError, match=message):
        FunctionProblem(function, N, of="factor").at(Y)


def test_arguments_are_refused_in_one_sentence():
    with pytest.raises(UnknownNameError, match="unknown backend 'jaks'; did you mean 'jax'"):
        FunctionProblem(anp.sum, N, "jaks")
    with pytest.raises(UnknownNameError, match="unknown of 'root'"):
        FunctionProblem(anp.sum, N, of="root")
    with pytest.raises(InvalidTypeError, match="function must be callable"):
        FunctionProblem(None, N)
    with pytest.raises(InvalidInputError, match=r"device must be None for backend='jax'.*only 'torch'.*found 'gpu'"):
        FunctionProblem(anp.sum, N, "jax", device="gpu")


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_a_backend_that_is_missing_is_named_with_its_extra(backend, monkeypatch):
    monkeypatch.setitem(sys.modules, backend, None)
    monkeypatch.delitem(sys.modules, f"psdopt.problems.functions.with_{backend}", raising=False)
    problem = FunctionProblem(anp.sum, N, backend)
    with pytest.raises(MissingDependencyError, match=rf"{backend}.*not installed: pip install 'psdopt\[{backend}\]'"):
        problem.at(Y).factor_gradient()


def test_nothing_is_imported_before_use():
    code = (
        "import sys, psdopt; psdopt.FunctionProblem(sum, 3, 'jax'); psdopt.FunctionProblem(sum, 3, 'torch');"
        "assert not {'jax', 'torch', 'autograd'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("backend", [installed("jax")])
def test_double_precision_of_jax_is_local(backend):
    import jax
    import jax.numpy as jnp

    before = jax.config.jax_enable_x64
    here = FunctionProblem(lambda M: jnp.sum((M - 1.0 / 3.0) ** 2), N, backend).at(Y)
    assert here.value == pytest.approx(np.sum((Y @ Y.T - 1.0 / 3.0) ** 2), rel=1e-14)
    assert jax.config.jax_enable_x64 == before
    with pytest.raises(InvalidInputError, match="float32; make its arrays by NumPy, or inside function"):
        FunctionProblem(lambda M: jnp.sum(M.astype(jnp.float32)), N, backend).at(Y).factor_gradient()


@pytest.mark.parametrize("backend", [installed("jax")])
def test_a_function_is_traced_once_for_each_use_and_not_at_each_step(backend):
    entered = []
    case = FunctionProblem(lambda M: entered.append(1) or (M * M).sum(), N, backend)
    for scale in (1.0, 2.0, 3.0):
        here = case.at(scale * Y)
        here.factor_gradient()
        here.along(D).derivatives(0.1)
        here.hessian_vector(D)
        here.along_atom(D[:, 0]).derivatives(1.0, 0.0)
    assert len(entered) == 2  # the value; and value, gradient and Hessian together


@pytest.mark.parametrize("backend", [installed("autograd"), installed("torch")])
@CASES
def test_a_step_enters_the_function_at_the_start_and_twice_more(backend, of):
    """Along a line, at the first trial and at the minimiser, whose trace serves the next step as well."""
    entered = []

    def squares(x):
        entered.append(1)
        M = x if of == "matrix" else x @ x.T
        return (M * M).sum() - 2.0 * M.sum()

    case = FunctionProblem(squares, N, backend, of, convex=True)
    start = case.at(Y)
    G = start.factor_gradient()
    entered.clear()
    line = start.along(-G)
    moved = line.step(line.minimize())
    assert moved.value < start.value
    moved.hessian_vector(moved.factor_gradient())
    assert len(entered) == (3 if of == "matrix" else 2)  # the trace at the start is that of the gradient of the factor
    same(moved.along(G).derivatives(0.0)[0], np.sum(moved.factor_gradient() * G))
    mu = moved.along(-moved.factor_gradient()).minimize()
    assert mu > 0.0
    assert len(entered) <= 6
    state = ConjugateGradient().init(case, FlatQuotient(N, R), Y)
    entered.clear()
    traces, traced = [], case.backend.plain_second_order
    case.backend.plain_second_order = lambda x: traces.append(1) or traced(x)
    for _ in range(8):
        state = ConjugateGradient().step(state)
    assert len(traces) <= 8 + 2
    assert len(entered) <= 4 * 8


@EVERY
def test_the_best_weight_of_an_atom_takes_gradients_alone(backend):
    """min over beta of F(M + beta v vᵀ), as where columns are added, beside the plane model of the matrix."""
    case = problem(backend, "factor")
    outward = []
    case.backend.plain_outward = lambda *at: outward.append(at)
    start, known = case.at(Y), reference().at(Y)
    for v in (V[:, 0], -known.gradient @ V[:, 1], np.linalg.eigh(known.gradient @ np.eye(N))[1][:, 0]):
        alpha, beta = start.along_atom(v).minimize(alpha=(1.0, 1.0))
        assert alpha == 1.0
        slope = known.along_atom(v).derivatives(1.0, beta)[0][1]
        assert abs(slope) <= 1e-6 * abs(known.along_atom(v).derivatives(1.0, 0.0)[0][1])
    assert start.along_atom(v).minimize(alpha=(1.0, 1.0), beta=(0.0, 0.5 * beta)) == (1.0, 0.5 * beta)
    alpha, beta = start.along_atom(0.0 * V[:, 0]).minimize(beta=(0.0, 0.0))
    assert beta == 0.0
    assert abs(known.along_atom(V[:, 0]).derivatives(alpha, 0.0)[0][0]) <= 1e-6 * abs(known.gradient @ Y).max()
    assert not outward


@EVERY
@pytest.mark.parametrize("quadratic", [True, False])
def test_the_best_weight_of_an_atom_takes_two_gradients_of_a_quadratic_function(backend, quadratic):
    """And no product with the Hessian: its slope at 0 is that of a parabola, which other functions hardly follow."""
    kind = (lambda M: ((M - 1.0) ** 2).sum()) if quadratic else FUNCTIONS[backend]
    case, known = FunctionProblem(OfFactor(kind), N, backend, "factor"), FunctionProblem(kind, N, backend)
    start, S = case.at(Y), dense_gradient(known.at(Y))
    v = np.linalg.eigh(S)[1][:, 0]
    assert v @ S @ v < 0.0
    assert np.isfinite(start.value)
    entered, products, traced = [], [], case.backend.plain_second_order

    def counted(x):
        entered.append(1)
        local = traced(x)
        return local._replace(product=lambda D: (products.append(1), local.product(D))[1])

    case.backend.plain_second_order = counted
    beta = start.along_atom(v).minimize(alpha=(1.0, 1.0))[1]
    slopes = [known.at(Y).along_atom(v).derivatives(1.0, b)[0][1] for b in (0.0, beta)]
    assert abs(slopes[1]) <= 1e-6 * abs(slopes[0])
    if quadratic:
        assert (len(entered), len(products)) == (2, 0)
    assert len(entered) <= 7


@EVERY
def test_a_diagonal_in_the_factor_gives_S_from_one_gradient(backend):
    case, wide = problem(backend, "factor"), np.hstack([Y, np.diag(np.linspace(1e-5, 1e-4, N))])
    assert case.at(Y).value < np.inf  # which tests the function by its values
    assert case.value_and_gradient_at(Y) is None
    case.backend.plain_outward = case.backend.plain_value = None
    value, S = case.value_and_gradient_at(wide)
    same(value, reference().at(wide).value)
    same(S, dense_gradient(reference().at(wide)))


def test_a_function_that_mixes_columns_is_not_trusted_with_short_ones():
    """Where columns are turned first, the short columns lose the digits by which they are shorter."""

    def mixed(Y):
        Z = anp.dot(Y, np.linalg.qr(np.random.default_rng(0).standard_normal((Y.shape[1],) * 2))[0])
        return anp.sum(anp.dot(Z, Z.T) ** 3)

    case = FunctionProblem(mixed, N, of="factor")
    wide = np.hstack([Y, 1e-8 * np.eye(N)])
    assert case.value_and_gradient_at(wide) is None
    assert dense_gradient(case.at(wide)) is not None


@pytest.mark.parametrize("backend", [installed("jax"), installed("torch")])
def test_where_a_factorisation_fails_the_function_is_infinite(backend):
    if backend == "jax":
        import jax.numpy as xp
    else:
        import torch as xp

    def barrier(M):
        return xp.trace(M) - 2.0 * xp.log(xp.diagonal(xp.linalg.cholesky(M))).sum()

    case = FunctionProblem(barrier, 4, backend, convex=True)
    assert case.value_at_zero() == np.inf
    assert np.isnan(case.at(np.eye(4)).along(-np.eye(4)).derivatives(1.0)).all()
    assert np.isnan(case.at(np.eye(4)).along_atom(np.ones(4)).derivatives(0.0, 0.0)[1]).all()
    assert solve(case).value == pytest.approx(4.0)


@CASES
@pytest.mark.parametrize("start", [np.zeros((3, 1)), np.eye(3)[:, :2]])
def test_where_the_function_has_a_value_but_no_gradient_a_run_ends_with_a_status(of, start):
    """That of det M in autograd inverts M: `solve` starts there, and the search for curvature meets such points."""

    def function(M):
        return anp.linalg.det(M) + 0.5 * (anp.trace(M) - 3.0) ** 2

    case = FunctionProblem(function if of == "matrix" else lambda Y: function(Y @ Y.T), 3, of=of, convex=True)
    result = solve(case, FlatQuotient(3, start.shape[1]), ConjugateGradient(), start=start)
    assert result.status in (Status.NON_FINITE, Status.STATIONARY)  # whether a factorisation fails is up to rounding
    assert negative_curvature(case, np.eye(3) + 0.1) is not None
    negative_curvature(case, np.ones((3, 1)))  # raises nothing


@pytest.mark.parametrize("backend", [installed("jax")])
def test_a_start_where_the_function_is_no_number_ends_the_run(backend):
    import jax.numpy as xp

    case = FunctionProblem(lambda M: -xp.log(1e-9 - xp.trace(M)), 3, backend, convex=True)
    assert solve(case, start=np.eye(3)).status is Status.NON_FINITE


@EVERY
@CASES
@pytest.mark.parametrize("again", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_problems_and_results_are_copied_and_pickled(backend, of, again):
    case = problem(backend, of)
    result = solve(case, max_iterations=5)
    other = again(case)
    assert other.at(Y).value == case.at(Y).value
    assert again(result).state.evaluation.refresh().value == result.state.evaluation.refresh().value


@pytest.mark.parametrize("backend", [installed("torch")])
@CASES
def test_arrays_stay_on_their_device(backend, of):
    """On PyTorch's processor, which stands for a GPU: only numbers and small arrays are fetched in a step."""
    case = problem(backend, of, device="cpu")
    start = case.at(Y)
    start.along(D).derivatives(0.1)
    transfers = case.device.transfers
    transfers.clear()
    moved = start.along(start.factor_gradient()).step(-0.01)
    assert moved.value < start.value
    moved.hessian_vector(moved.factor_gradient())
    assert transfers.most_rows == 0
    assert transfers.to_device == 0
    result = solve(case)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(solve(reference()).value, rel=1e-6)
    same(on_host(moved.gradient @ V), reference().at(on_host(moved.factor)).gradient @ V)


def test_a_function_that_is_infinite_at_low_rank_is_tested_at_full_rank():
    def barrier(Y):
        factor = anp.linalg.cholesky(anp.dot(Y, Y.T))
        return -2.0 * anp.sum(anp.log(anp.diag(factor))) + anp.sum(Y[0])

    with pytest.raises(InvalidInputError, match="depend on Y Yᵀ alone"):
        FunctionProblem(barrier, N, of="factor").at(np.eye(N)[:, :R])


def weighted(M, parameters):
    return (parameters["w"] * (M - parameters["t"][0]) ** 2).sum()


def of_factor(Y, parameters):
    return weighted(Y @ Y.T, parameters)


@EVERY
@pytest.mark.parametrize("function", [weighted, of_factor])
def test_derivatives_in_parameters_are_those_of_finite_differences(backend, function):
    rng = np.random.default_rng(5)
    w, t = rng.uniform(1.0, 2.0, (N, N)), rng.standard_normal((N, N))
    kept = (lambda a: a) if backend != "torch" else __import__("torch").from_numpy
    of = "matrix" if function is weighted else "factor"
    case = FunctionProblem(function, N, backend, of, parameters={"w": kept(w), "t": [kept(t)]})
    assert case.at(Y).value == pytest.approx(np.sum(w * (Y @ Y.T - t) ** 2))
    N_ = Y @ D.T + D @ Y.T
    found = case.at(Y).parameter_gradient(D)
    same(np.asarray(found["w"]), 2.0 * (Y @ Y.T - t) * N_)
    same(np.asarray(found["t"][0]), -2.0 * w * N_)
    same(np.asarray(case.at(Y).parameter_gradient()["w"]), (Y @ Y.T - t) ** 2)
    moves = {"w": rng.standard_normal((N, N)), "t[0]": rng.standard_normal((N, N))}
    S = 2.0 * moves["w"] * (Y @ Y.T - t) - 2.0 * w * moves["t[0]"]
    same(np.asarray(case.at(Y).data_force(moves)), 0.5 * (S + S.T) @ Y)
    single = FunctionProblem(lambda x, p: (p * x * x).sum(), N, backend, of, parameters=kept(np.array(2.0)))
    assert set(single.data) == {"parameters"}
    slope = 2.0 * np.sum(Y * D) if of == "factor" else 2.0 * np.sum(Y @ Y.T * N_)
    assert single.at(Y).data_gradient(D)["parameters"] == pytest.approx(slope)
    other = case.with_parameters({"w": kept(2.0 * w), "t": [kept(t)]})
    assert other.at(Y).value == pytest.approx(2.0 * case.at(Y).value)
    assert other.value_at_zero() == pytest.approx(2.0 * case.value_at_zero())


def test_derivatives_in_parameters_that_were_not_given_are_refused():
    with pytest.raises(InvalidInputError, match=r"parameters must be given to FunctionProblem.*found None"):
        FunctionProblem(anp.sum, N).at(Y).parameter_gradient(D)
    with pytest.raises(InvalidInputError, match=r"parameters must be given to FunctionProblem.*found None"):
        FunctionProblem(anp.sum, N).at(Y).data_force({})


def test_a_function_may_return_an_integer():
    assert solve(FunctionProblem(lambda M: 0, 3, convex=True)).status is Status.OPTIMAL


def test_parameters_that_are_no_real_numbers_have_no_derivatives():
    def picked(M, p):
        return anp.sum((M - p["T"]) ** 2) + M[p["i"], p["i"]]

    result = solve(FunctionProblem(picked, 3, convex=True, parameters={"T": np.eye(3), "i": 1}))
    with pytest.raises(InvalidInputError, match="must be float64 for derivatives in them; found i of int64"):
        result.vjp(np.eye(3))


def test_lines_of_hinges_are_searched_with_few_gradients():
    """A line of hinges is no quartic: the minimiser to the rounding takes more gradients than a step is worth."""
    rng = np.random.default_rng(7)
    X, targets = rng.standard_normal((60, N)), rng.uniform(0.0, 4.0, 60)

    def hinges(Y):
        missed = targets - anp.sum(anp.dot(X, Y) ** 2, axis=1)
        return anp.sum((missed > 0) * missed**2) + anp.sum(Y**2)

    case, counts = FunctionProblem(hinges, N, of="factor"), []
    traced = case.backend.plain_second_order
    case.backend.plain_second_order = lambda x: (counts.append(x), traced(x))[1]
    case.at(Y)

    def searched(kind, mean):
        before, gained = len(counts), []
        for seed in range(20):
            here = case.at(mean * np.random.default_rng(seed).standard_normal((N, R)))
            line = here.along(-here.factor_gradient())
            gained.append(here.value - line.value(getattr(line, kind)()))
        return np.array(gained), len(counts) - before

    for mean in (0.1, 1.0):
        (best, exact), (near, few) = searched("minimize", mean), searched("nearly_minimize", mean)
        assert few <= 0.8 * exact
        assert np.median(near / best) >= 0.99
        assert np.all(near >= 0.8 * best)  # the model of what is left is a polynomial


@CASES
def test_a_newton_step_takes_the_products_of_its_system_alone(of):
    """Its line knows from the system how F bends at its start."""
    case, products = problem("autograd", of), []
    traced = case.backend.plain_second_order

    def counted(x):
        local = traced(x)
        return local._replace(product=lambda D: (products.append(1), local.product(D))[1])

    case.backend.plain_second_order = counted
    method, counts = TruncatedNewton(), []
    state = method.init(case, FlatQuotient(N, R), Y)
    for _ in range(6):
        products.clear()
        state = method.step(state)
        counts.append(len(products) - state.extras["products"])
    assert sum(counts) <= 1, counts  # one more where the first direction ends the system
