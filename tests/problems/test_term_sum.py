"""Problems of the gallery pass the kit beside their autograd twins; what steps cost, and when images are refreshed."""

import math

import numpy as np
import pytest

from psdopt import TermSum
from psdopt.contracts.gradient import dense_gradient, value_and_gradient
from psdopt.contracts.roles import Duality
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import MINOR
from psdopt.problems import term_models
from psdopt.problems.share_bound import ShareBound
from psdopt.terms.forms import IdentityForm
from psdopt.terms.losses import LeastSquares, SquaredHinge
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import QuadraticForms
from psdopt.terms.quadratic import LinearTerm, ProductTerm
from tests.problems.twins import assert_same_point, composed, with_checks

from ..instances import INSTANCES


@with_checks(
    "autograd_twin", "gradient_slope", "gradient_operator", "hessian_slope", "hessian_symmetric", "step_by_images",
    "representative_invariance", "line_model", "line_minimum", "plane_model", "plane_minimum", "polynomial_degree",
)  # fmt: skip
def test_problems_of_the_gallery(check):
    check()


@pytest.mark.parametrize("r", [1, 2, 4])
@pytest.mark.parametrize("name", sorted(INSTANCES))
def test_applications_per_step(name, r):
    """One along + step + value + factor gradient: each of A, B, C once; X and Xᵀ once however many terms share it."""
    instance, rng, Y = composed(name, r)
    problem = instance.problem
    here = problem.at(Y)
    here.value, here.factor_gradient()
    for _ in range(3):
        before = problem.counts()
        moved = here.along(rng.standard_normal(Y.shape)).step(0.3)
        moved.value, moved.factor_gradient(), moved.gradient @ moved.factor
        after = problem.counts()
        assert after["operator_applications"] - before["operator_applications"] == instance.per_line
        assert after["operator_columns"] - before["operator_columns"] == instance.per_line * r
        here = moved
    before = problem.counts()
    assert math.isfinite(here.mix(rng.standard_normal((r, 2))).value)
    assert problem.counts() == before  # Y T is combined of what is known


def test_an_atom_costs_one_column():
    instance, rng, Y = composed("qsdp-dense", 3)
    here = instance.problem.at(Y)
    here.factor_gradient()
    before = instance.problem.counts()["operator_columns"]
    here.along_atom(rng.standard_normal(N)).step(0.5, 2.0).factor_gradient()
    assert instance.problem.counts()["operator_columns"] - before == 3  # A, B, C, one column each


def test_images_are_refreshed_once_rounding_has_accumulated(monkeypatch):
    """With a low limit the refresh shows in the counts; the values stay those of a fresh evaluation."""
    instance, _, Y = composed("qsdp-dense", 2)
    problem = instance.problem

    def applications(limit):
        monkeypatch.setattr(term_models, "DRIFT_LIMIT_IN_EPS", limit)
        generator, here, start = np.random.default_rng(1), problem.at(Y), problem.counts()["operator_applications"]
        for _ in range(60):
            here = here.along(generator.standard_normal(Y.shape)).step(0.1)
            here.factor_gradient()
        assert_same_point(here, problem.at(here.factor))
        return problem.counts()["operator_applications"] - start

    without, often = applications(1e9), applications(20)
    assert without >= 60 * 3
    assert often > without
    assert (often - without) % 3 == 0


def test_drift_grows_when_the_factor_shrinks():
    """Cancellation Y + mu D -> small Y makes relative rounding large: such a step is refreshed at once."""
    instance, rng, Y = composed("qsdp-dense", 2)
    here = instance.problem.at(Y)
    here.factor_gradient()
    moved = here.along(-Y + 1e-7 * rng.standard_normal(Y.shape)).step(1.0)
    assert moved.images.drift == 0.0  # recomputed
    assert_same_point(moved, instance.problem.at(moved.factor))


def test_overflow_is_a_value_and_no_error():
    from psdopt.linalg.arrays import sum_of

    assert sum_of([1.0, 1e-20, -1.0]) == 1e-20
    assert np.isnan(sum_of([np.inf, -np.inf]))
    assert sum_of([1e308, 1e308]) == np.inf
    assert sum_of([np.inf, 1.0]) == np.inf


N, M, R = 7, 20, 3


def problem():
    """Exact values of random quadratic forms, and the factor Y that has them."""
    rng = np.random.default_rng(0)
    X, Y = LinearMap(rng.standard_normal((M, N))), rng.standard_normal((N, R))
    targets = np.sum((X.data @ Y) ** 2, axis=1)
    return TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(targets))]), Y


@pytest.mark.parametrize("scale", [1e4, 1e8])
def test_what_is_left_of_a_large_value_is_not_its_rounding(scale):
    F, Y = problem()
    there = 1.01 * Y
    far = F.at(there + scale * np.random.default_rng(1).standard_normal((N, R)))
    moved = far.along(there - far.factor).step(1.0)
    direct = F.at(moved.factor)
    assert direct.value < MINOR * far.value
    assert moved.value == pytest.approx(direct.value, rel=1e-12)
    np.testing.assert_allclose(moved.factor_gradient(), direct.factor_gradient(), rtol=1e-9)


def test_many_small_falls_count_as_one_large_one(monkeypatch):
    """F of Y/2 is a sixteenth: after some halvings F has fallen far, and each time it has, it is recomputed once."""
    period = math.ceil(math.log(1.0 / MINOR, 16.0))
    F, Y = problem()
    here, calls, original = F.at(1e9 * Y), [], term_models.TermEvaluation.refresh
    monkeypatch.setattr(term_models.TermEvaluation, "refresh", lambda here: calls.append(1) or original(here))
    refreshed = []
    for _ in range(25):
        here = here.along(-0.5 * here.factor).step(1.0)
        assert here.value == pytest.approx(F.at(here.factor).value, rel=1e-9)
        refreshed.append(len(calls))
    assert refreshed == [k // period for k in range(1, 26)]


@pytest.mark.parametrize("scale", [1e-14, 1.0, 1e14])
def test_an_ordinary_step_applies_nothing_twice_in_any_unit_of_f(scale):
    """Its images are combined, not computed anew: what it costs is the adjoint's application, for the gradient."""
    X = LinearMap(np.random.default_rng(0).standard_normal((M, N)))
    F = TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(np.ones(M)), scale)])
    here = F.at(np.random.default_rng(1).standard_normal((N, R)))
    line = here.along(-0.1 * here.factor)
    before = F.counts()["operator_applications"]
    moved = line.step(1.0)
    assert here.value > moved.value > 0.0
    moved.factor_gradient()
    assert F.counts()["operator_applications"] == before + 1


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 6, 7])
def test_wide_blocks_meet_a_map_that_takes_few_columns_in_groups(columns):
    X = LinearMap(np.random.default_rng(0).standard_normal((M, N)))
    X.most_columns = 3
    F = TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(np.ones(M)))])
    here = F.at(np.random.default_rng(1).standard_normal((N, R)))
    _, V = here.value, np.random.default_rng(2).standard_normal((N, columns))
    before = F.counts()
    product = here.gradient @ V
    spent = {name: count - before[name] for name, count in F.counts().items()}
    groups = -(-columns // 3)
    assert spent == {"operator_applications": 2 * groups, "operator_columns": 2 * columns}  # X and its adjoint
    single = np.column_stack([here.gradient @ v for v in V.T])
    np.testing.assert_allclose(product, single, rtol=1e-11, atol=1e-11 * np.abs(product).max())


def test_which_sums_have_a_bound_from_their_values():
    """All but linear terms convex and nowhere negative; c alone where the linear terms are not negative either."""
    rng = np.random.default_rng(3)
    hinge = MeasuredTerm(QuadraticForms(rng.standard_normal((M, N))), SquaredHinge(1.0))
    squares = MeasuredTerm(QuadraticForms(rng.standard_normal((M, N))), LeastSquares(1.0))
    concave = MeasuredTerm(QuadraticForms(rng.standard_normal((M, N))), SquaredHinge(1.0), -1.0)
    pull, push = LinearTerm(IdentityForm(N)), LinearTerm(IdentityForm(N), -1.0)
    for terms, least, with_pull in (
        ([hinge], 0.5, False), ([hinge, pull], 0.5, True), ([hinge, push], None, True), ([squares, pull], 0.5, True),
        ([pull], 0.5, True), ([squares], 0.5, False), ([squares, push], None, True),
    ):  # fmt: skip
        duality = TermSum(terms, 0.5).duality
        assert isinstance(duality, ShareBound)
        assert duality.least == least
        assert (duality.linear is not None) is with_pull
        if with_pull:
            assert list(duality.linear.terms) == [term for term in terms if term in (pull, push)]
    for terms in ([concave], [hinge, concave], [ProductTerm(np.eye(N), np.eye(N), -1.0), pull]):
        assert type(TermSum(terms).duality) is Duality


@pytest.mark.parametrize("name", INSTANCES)
def test_lines_and_planes_of_quadratic_sums_are_polynomials(name):
    instance, rng, Y = composed(name, 2)
    here = instance.problem.at(Y)
    line, plane = here.along(rng.standard_normal(Y.shape)), here.along_atom(rng.standard_normal(len(Y)))
    assert (line.coefficients is not None) == (plane.quadratic is not None) == instance.quadratic
    for upper in (0.5 * line.minimize(), 0.1):
        assert line.minimize(upper) <= upper
    alpha, beta = plane.minimize(alpha=(1.0, 1.0), beta=(0.0, 0.25))
    assert alpha == 1.0
    assert 0.0 <= beta <= 0.25


@pytest.mark.parametrize("name", INSTANCES)
def test_value_and_gradient_at_once_and_values_on_the_ray_are_those_of_an_evaluation(name):
    instance, _, Y = composed(name, 2)
    problem = instance.problem
    here = problem.at(Y)
    value, S = value_and_gradient(problem, Y)
    assert value == pytest.approx(here.value, rel=1e-12)
    known = dense_gradient(here)
    np.testing.assert_allclose(S, known, rtol=1e-11, atol=1e-12 * np.abs(known).max())
    assert here.value_of_share(0.3) == pytest.approx(problem.at(math.sqrt(0.3) * Y).value, rel=1e-11)


def test_what_a_subclass_adds_is_in_the_value_and_the_gradient_that_make_no_images():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((3, 3))

    class Halved(QuadraticForms):
        def pair(self, U, V):
            return 0.5 * super().pair(U, V)

        def adjoint(self, weights, V):
            return super().adjoint(0.5 * weights, V)

        def directions(self, V):
            return math.sqrt(0.5) * super().directions(V)

        def add_to(self, S, weights, identity=None):
            super().add_to(S, 0.5 * weights, identity)

    class Shifted(MeasuredTerm):
        def features(self, U):
            return super().features(U) + 1.0

    class More(TermSum):
        def at(self, Y):
            return TermSum([*self.terms, LinearTerm(IdentityForm(self.n))]).at(Y)

    plain = MeasuredTerm(QuadraticForms(X), LeastSquares(1.0))
    for problem in (
        TermSum([MeasuredTerm(Halved(X), LeastSquares(1.0))]),
        TermSum([Shifted(QuadraticForms(X), LeastSquares(1.0))]),
        More([plain]),
    ):
        here = problem.at(Y)
        value, S = value_and_gradient(problem, Y)
        assert value == pytest.approx(here.value)
        np.testing.assert_allclose(S, dense_gradient(here), rtol=1e-12)
        assert here.value_of_share(0.25) == pytest.approx(problem.at(0.5 * Y).value)
    (whole,), (half,) = (
        TermSum([MeasuredTerm(kind(X), LeastSquares(1.0))]).at(Y).curvatures(thorough=True)
        for kind in (QuadraticForms, Halved)
    )
    size = [each.modulus * np.linalg.norm(each.root.T @ each.root) ** 2 for each in (whole, half)]
    assert size[1] == pytest.approx(0.25 * size[0], rel=1e-6)
