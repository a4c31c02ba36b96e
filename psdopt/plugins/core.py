"""The core's own contributions, registered by the same hook as those of plugins."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from psdopt import methods
from psdopt.data.datasets import BUNDLED, bundled
from psdopt.geometries import FixedTrace, FlatQuotient, Polar, PositiveDefinite, PSDCone, Spectraplex
from psdopt.geometries.positive_definite import METRICS
from psdopt.plugins.hookspec import hookimpl
from psdopt.plugins.specs import DatasetSpec, GeometrySpec, MethodSpec, Parameter, ProblemSpec, Spec
from psdopt.problems import QuadraticSDP

YUAN = "Yuan, Zhang, Ghanem, Hao: Low-Rank Quadratic Semidefinite Programming"
SHEN = "Shen, Welsh, Wang: PSDBoost, Matrix-Generation Linear Programming for Positive Semidefinite Matrices"
HU = "Hu, Kwok: Low-rank kernel learning by ADMM"
HAO = "Hao, Yuan, Ghanem: BILGO, Bilateral Greedy Optimization for Large Scale Semidefinite Programming"
MEYER = "Meyer, Bonnabel, Sepulchre: Regression on Fixed-Rank Positive Semidefinite Matrices"

_METRIC = f"{', '.join(METRICS[:-1])} or {METRICS[-1]}"
_SEARCH = Parameter("search", str, "exact", "line search: exact or armijo")
_PRECONDITIONER = Parameter("preconditioner", str, "auto", "auto, gram, problem, diagonal or none")


@hookimpl
def psdopt_components() -> Iterator[Spec]:
    """Geometries, methods, problems and data sets of the core."""
    yield from _geometries()
    yield from _methods()
    yield ProblemSpec(
        "quadratic-sdp",
        QuadraticSDP,
        "min tr((A M)²) + tr(B M²) + 2 tr(C M) over M ⪰ 0",
        YUAN,
        example=_example_quadratic,
    )
    for name, summary in BUNDLED.items():
        yield DatasetSpec(name, partial(bundled, name), summary, "scikit-learn", example=partial(bundled, "iris"))


def _geometries() -> Iterator[Spec]:
    yield GeometrySpec(
        "flat-quotient",
        FlatQuotient,
        "rank at most r: factors Y (n, r) up to rotation, flat metric",
        MEYER,
        (Parameter("r", int, None, "rank (also --rank)"),),
        partial(FlatQuotient, 6, 2),
    )
    yield GeometrySpec("psd-cone", PSDCone, "all PSD matrices of order n, no rank limit", example=partial(PSDCone, 6))
    yield GeometrySpec(
        "polar",
        Polar,
        "rank r: subspace and PSD matrix within it, M = U R RᵀUᵀ",
        MEYER,
        (Parameter("r", int, None, "rank (also --rank)"), Parameter("weight", float, 0.5, "of the subspace's moves")),
        partial(Polar, 6, 2),
    )
    yield GeometrySpec(
        "positive-definite",
        PositiveDefinite,
        "the interior of the cone under a Riemannian metric",
        MEYER,
        (Parameter("metric", str, "affine-invariant", _METRIC),),
        partial(PositiveDefinite, 4),
    )
    yield GeometrySpec(
        "spectraplex",
        Spectraplex,
        "PSD matrices of a fixed trace",
        SHEN,
        (Parameter("trace", float, 1.0, "of all members"),),
        partial(Spectraplex, 6),
    )
    yield GeometrySpec(
        "fixed-trace",
        FixedTrace,
        "rank at most r and a fixed trace: factors of a fixed norm",
        SHEN,
        (Parameter("r", int, None, "rank (also --rank)"), Parameter("trace", float, 1.0, "of all members")),
        partial(FixedTrace, 6, 2),
    )


def _methods() -> Iterator[Spec]:
    yield MethodSpec(
        "conjugate-gradient",
        methods.ConjugateGradient,
        "nonlinear conjugate gradient on the factor, exact line search",
        YUAN,
        (Parameter("update", str, "PR+", "rule for beta: PR+, FR, HS or DY"), _SEARCH, _PRECONDITIONER),
    )
    yield MethodSpec(
        "block-conjugate-gradient",
        methods.BlockConjugateGradient,
        "best M in the span of factor, gradient and last direction",
        YUAN,
        (Parameter("preconditioner", str, "diagonal", "diagonal, problem, gram, none or auto"),),
    )
    yield MethodSpec(
        "lbfgs",
        methods.LBFGS,
        "limited-memory BFGS on the factor, exact line search",
        YUAN,
        (Parameter("memory", int, 20, "pairs kept"), _SEARCH, _PRECONDITIONER),
    )
    yield MethodSpec(
        "lagrange-newton",
        methods.LagrangeNewton,
        "Newton on factor and multipliers, for quadratic fits of few measurements",
        "Schur complement: Helmberg, Rendl, Vanderbei, Wolkowicz (1996)",
        (Parameter("steps", int, None, "conjugate gradient steps before the first Newton step"),),
    )
    yield MethodSpec("closed-form", methods.ClosedForm, "the known minimiser, for problems that have one", YUAN)
    yield MethodSpec(
        "trust-regions",
        methods.TrustRegions,
        "pymanopt's Riemannian trust regions on the factor",
        "Absil, Baker, Gallivan (2007)",
    )
    yield MethodSpec(
        "truncated-newton",
        methods.TruncatedNewton,
        "Newton's method on the factor, systems by conjugate gradient",
        "Dembo, Steihaug (1983)",
        (Parameter("inner", int, 200, "most Hessian products per step"),),
    )
    yield MethodSpec(
        "augmented-lagrangian",
        methods.AugmentedLagrangian,
        "linear constraints, by any method on the factor inside",
        "Burer, Monteiro (2003)",
        (Parameter("inside_steps", int, 5, "steps of the method inside, per step"),),
    )
    yield MethodSpec(
        "dual-newton",
        methods.DualNewton,
        "nearest matrix under linear equations: semismooth Newton on the multipliers",
        "Qi, Sun (2006)",
        (Parameter("inner", int, 100, "most Hessian products per step"),),
    )
    yield MethodSpec(
        "interior-point",
        methods.InteriorPoint,
        "linear objective, linear constraints: primal-dual path following, by blocks",
        "Helmberg, Rendl, Vanderbei, Wolkowicz (1996)",
        (Parameter("share", float, 0.9, "of the way to the boundary, per step"),),
    )
    yield MethodSpec(
        "boundary-point",
        methods.BoundaryPoint,
        "linear objective, very many linear constraints: splitting on the dual",
        "Povh, Rendl, Wiegele (2006)",
        (Parameter("overshoot", float, 1.6, "step of the multiplier, relative to the penalty"),),
    )
    yield MethodSpec("riemannian-gradient", methods.RiemannianGradient, "gradient descent along a retraction", MEYER)
    yield MethodSpec(
        "online-gradient",
        methods.OnlineRiemannianGradient,
        "mini-batch gradient steps over a stream of samples",
        MEYER,
        (Parameter("batch_size", int, 32, "samples per step"),),
    )
    yield MethodSpec(
        "frank-wolfe",
        methods.FrankWolfe,
        "conditional gradient over a fixed trace, fully corrective",
        "Hazan (2008); Jaggi (2013)",
        (Parameter("variant", str, "auto", "fully-corrective (auto) or vanilla"),),
    )
    yield MethodSpec(
        "bilgo",
        methods.BILGO,
        "bilateral greedy search for atoms on the cone, with local search",
        HAO,
        (Parameter("every", int, 5, "atoms between two local searches"),),
    )
    yield MethodSpec(
        "projected-gradient",
        methods.ProjectedGradient,
        "accelerated projected gradient, full eigendecompositions",
        "Nesterov (1983)",
        (Parameter("accelerated", bool, True, "Nesterov's momentum"),),
    )
    yield MethodSpec(
        "column-generation",
        methods.ColumnGeneration,
        "matrix generation with a stabilised master problem",
        SHEN,
        (
            Parameter("stabilization", str, "auto", "centre (auto) or none"),
            Parameter("columns", int, None, "new columns per round"),
            Parameter("max_columns", int, None, "most columns kept; the others are aggregated"),
        ),
    )
    yield MethodSpec(
        "admm",
        methods.ADMM,
        "alternating directions on a bi-convex split, then a polish on the factor",
        HU,
        (Parameter("adapt", bool, True, "adapt rho"), Parameter("switch", float, 1e-2, "residual that starts polish")),
    )


def _example_quadratic() -> QuadraticSDP:
    rng = np.random.default_rng(0)
    A, C = rng.standard_normal((6, 6)), rng.standard_normal((6, 6))
    return QuadraticSDP(A=A @ A.T, B=0.5, C=C + C.T)
