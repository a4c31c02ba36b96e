"""Every geometry, method, problem and estimator that is shipped passes the kit; none can be forgotten."""

import autograd.numpy as anp
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

import psdopt.geometries
import psdopt.methods
from psdopt import AutogradProblem, FlatQuotient, Polar, PositiveDefinite, PSDCone, QuadraticSDP, Spectraplex
from psdopt.contracts.method import Method
from psdopt.geometries.fixed_trace import FixedTrace
from psdopt.methods import BILGO, LBFGS, ConjugateGradient, FrankWolfe
from psdopt.methods.alternating import AfterSteps, Alternating
from psdopt.plugins import plugin_manager
from psdopt.testing import parametrize_with_checks
from psdopt.testing.gallery import problems, special_problems, with_spectrum
from psdopt_plugins.kernel_learning import distance_kernel_problem, pairwise_kernel_problem
from psdopt_plugins.manifold_learning import mvu_problem, sstress_problem
from psdopt_plugins.metric_learning import (
    MatrixGeneration,
    lmnn_problem,
    nca_problem,
    pair_distance_problem,
    triplet_margin_problem,
)
from psdopt_plugins.regression import psd_regression_problem, psd_regression_stream
from psdopt_plugins.relaxations import CommunityDetection

RNG = np.random.default_rng(0)
X = RNG.standard_normal((9, 6))
GRAM = X.T @ X
C = with_spectrum(np.linspace(-2.0, 1.0, 6), 2)
PAIRS = np.array([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 3), (1, 5)])
LENGTHS = np.linspace(0.5, 2.0, len(PAIRS))


def squared(M, D):
    """d_t = Σ_kl D_tk M_kl D_tl for the rows of D."""
    return anp.sum(anp.dot(D, M) * D, axis=1)


def with_twin(problem, formula):
    problem.twin = AutogradProblem(formula, problem.n)
    return problem


def shipped_problems():
    """Each application's problem beside the formula of its documentation, written out on the dense M."""
    E = np.eye(6)
    edges = E[PAIRS[:, 0]] - E[PAIRS[:, 1]]
    differences = X[PAIRS[:, 0]] - X[PAIRS[:, 1]]
    y, m = RNG.uniform(0.0, 9.0, len(X)), len(PAIRS)
    same = np.arange(m) % 2 == 0

    yield with_twin(psd_regression_problem(X, y), lambda M: anp.sum((squared(M, X) - y) ** 2) / (2 * len(X)))
    yield with_twin(
        sstress_problem(LENGTHS, PAIRS, n=6), lambda M: anp.sum((squared(M, edges) - LENGTHS) ** 2) / (2 * m)
    )
    yield with_twin(
        distance_kernel_problem(6, PAIRS, LENGTHS), lambda M: anp.sum((squared(M, edges) - LENGTHS) ** 2) / (2 * m)
    )
    sign = np.where(same, 1.0, -1.0)
    bounds = np.where(same, 0.75, 1.25) * LENGTHS
    yield with_twin(
        distance_kernel_problem(6, PAIRS, LENGTHS, same, 0.25),
        lambda M: anp.sum(anp.maximum(0.0, sign * (squared(M, edges) - bounds)) ** 2) / (2 * m),
    )
    limits = np.where(same, 1.0, 3.0)
    yield with_twin(
        pair_distance_problem(X, (PAIRS[same], PAIRS[~same]), upper=1.0, lower=3.0),
        lambda M: anp.sum(anp.maximum(0.0, sign * (squared(M, differences) - limits)) ** 2) / (2 * m),
    )
    D = np.zeros((6, 6))
    D[PAIRS[:, 0], PAIRS[:, 1]] = D[PAIRS[:, 1], PAIRS[:, 0]] = LENGTHS
    H = E - 1.0 / 6.0
    yield with_twin(
        mvu_problem(csr_array(D), 0.1),
        lambda M: 2.0 * anp.sum((squared(M, edges) - LENGTHS) ** 2) - 0.1 * anp.sum(H * M),
    )
    triplets = np.array([(0, 1, 5), (1, 2, 6), (2, 3, 7), (4, 5, 8)])
    near, far = X[triplets[:, 0]] - X[triplets[:, 1]], X[triplets[:, 0]] - X[triplets[:, 2]]
    yield with_twin(
        lmnn_problem(X, triplets[:, :2], triplets, 3.0),
        lambda M: (
            anp.sum(squared(M, near)) + 3.0 * anp.sum(anp.maximum(0.0, 1.0 + squared(M, near) - squared(M, far)) ** 2)
        ),
    )
    candidates = (np.arange(9)[:, None] + np.array([0, 1, 3, 5, 6])) % 9
    wrong = (candidates[:, 1:] - candidates[:, :1]) % 3 != 0
    steps = (X[:, None] - X[candidates[:, 1:]]).reshape(-1, 6)

    def chances(M):
        squares = anp.reshape(squared(M, steps), (9, 4))
        weights = anp.exp(anp.min(squares, axis=1, keepdims=True) - squares)
        return weights / anp.sum(weights, axis=1, keepdims=True)

    yield with_twin(
        nca_problem(X, np.arange(9) % 3, candidates, 0.05),
        lambda M: anp.sum(chances(M) * wrong) / 9 + 0.05 * anp.trace(M),
    )
    # margins under the soft maximum: the best rho is among the margins
    yield with_twin(
        triplet_margin_problem(X, triplets, C=0.4),
        lambda M: -anp.max(anp.array([
            rho - 0.4 * anp.sum(anp.maximum(0.0, rho - (squared(M, far) - squared(M, near))))
            for rho in (squared(M, far) - squared(M, near))
        ])),
    )  # fmt: skip
    L = np.diag([1.0, 2.0, 2.0, 2.0, 2.0, 1.0]) - np.diag(np.ones(5), 1) - np.diag(np.ones(5), -1)
    T, P = np.eye(6), np.eye(6)
    for (i, j), wanted in zip([(0, 1), (2, 5)], (1.0, 0.0), strict=True):
        T[i, j] = T[j, i] = wanted
        P[i, j] = P[j, i] = 1.0
    yield with_twin(
        pairwise_kernel_problem(L, np.array([(0, 1), (2, 5)]), np.array([1.0, 0.0]), 4.0),
        lambda M: anp.sum(L * M) + 2.0 * anp.sum(P * (M - T) ** 2),
    )
    yield psd_regression_stream(X, y)


CORE = [
    *problems().values(),
    *special_problems().values(),
    QuadraticSDP(csr_array(GRAM), None, C),
    QuadraticSDP(aslinearoperator(GRAM), 0.5, aslinearoperator(C)),
    QuadraticSDP(None, 1.0, np.array([[-2.0]])),
    QuadraticSDP(1e8 * GRAM, 1e-8, C, constant=3.0),
]
GEOMETRIES = [
    FlatQuotient(6, 3), FlatQuotient(5, 1), FlatQuotient(4, 4), FlatQuotient(1, 1),
    PSDCone(5), PSDCone(1),
    Spectraplex(5), Spectraplex(4, 7.0), Spectraplex(1),
    Polar(6, 3), Polar(5, 1), Polar(4, 4, 0.3), Polar(6, 3, 0.8), Polar(5, 2, 0.0), Polar(5, 2, 1.0),
    PositiveDefinite(4), PositiveDefinite(1), PositiveDefinite(4, "log-euclidean"), PositiveDefinite(2, "von-neumann"),
    FixedTrace(5, 2, 2.0), FixedTrace(4, 4, 40.0),
]  # fmt: skip


def specs(kind):
    return [spec for spec in plugin_manager().specs(kind) if plugin_manager().plugin_of(spec) != "nearest_correlation"]


def examples(kind):
    return [(spec.example or spec.factory)() for spec in specs(kind)]


@parametrize_with_checks([*CORE, *shipped_problems(), *examples("problem")])
def test_problems(check):
    check()


@parametrize_with_checks([*GEOMETRIES, *examples("geometry")])
def test_geometries(check):
    check()


@parametrize_with_checks(
    [PositiveDefinite(3, retraction="first-order")],
    expected_failures={
        "geometry.retraction_keeps_set": "W + ξ, the LogDet update as it is published, leaves the cone for long steps; "
        "retract says so, and the searches ask longest_step"
    },
)
def test_the_retraction_that_leaves_the_cone(check):
    check()


OTHER_METHODS = [
    FrankWolfe(variant="vanilla"), MatrixGeneration(),
    BILGO(local_search=LBFGS()), ConjugateGradient("none"),
    Alternating(ConjugateGradient(), LBFGS(), AfterSteps(3)),
]  # fmt: skip


@parametrize_with_checks([*examples("method"), *OTHER_METHODS])
def test_methods(check):
    check()


def estimators():
    """The shipped ones; divisions into every number of communities would only repeat k-means."""
    for estimator in examples("application"):
        yield estimator.set_params(n_clusters=2) if isinstance(estimator, CommunityDetection) else estimator


@parametrize_with_checks([*estimators()])
def test_estimators(check):
    check()


def test_nothing_is_forgotten():
    tried = {type(method) for method in [*examples("method"), *OTHER_METHODS]}
    shipped = {getattr(psdopt.methods, name) for name in psdopt.methods.__all__}
    assert {cls for cls in shipped if isinstance(cls, type) and issubclass(cls, Method)} <= tried
    geometries = {getattr(psdopt.geometries, name) for name in psdopt.geometries.__all__}
    assert geometries <= {type(geometry) for geometry in [*GEOMETRIES, *examples("geometry")]}


@pytest.mark.parametrize("kind", ["problem", "geometry", "method", "application"])
def test_every_spec_has_an_example(kind):
    assert len(examples(kind)) == len(specs(kind)) > 0
