"""The core's own contributions, registered by the same hook as those of plugins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import partial
from types import UnionType
from typing import Any, get_args, get_type_hints

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
HELMBERG = "Helmberg, Rendl, Vanderbei, Wolkowicz (1996)"

_PRECONDITIONER = {"preconditioner": "auto, gram, problem, diagonal or none"}
_RANK = Parameter("r", int, None, "rank (also --rank)")
_TRACE = Parameter("trace", float, 1.0, "of all members")
_METRIC = Parameter("metric", str, "affine-invariant", f"{', '.join(METRICS[:-1])} or {METRICS[-1]}")
_WEIGHT = Parameter("weight", float, 0.5, "of the subspace's moves")

#: Class -> summary, reference, parameters, arguments of the example.
GEOMETRIES: Mapping[type, tuple[str, str, tuple[Parameter, ...], tuple[int, ...]]] = {
    FlatQuotient: ("rank at most r: factors Y (n, r) up to rotation, flat metric", MEYER, (_RANK,), (6, 2)),
    PSDCone: ("all PSD matrices of order n, no rank limit", "", (), (6,)),
    Polar: ("rank r: subspace and PSD matrix within it, M = U R RᵀUᵀ", MEYER, (_RANK, _WEIGHT), (6, 2)),
    PositiveDefinite: ("the interior of the cone under a Riemannian metric", MEYER, (_METRIC,), (4,)),
    Spectraplex: ("PSD matrices of a fixed trace", SHEN, (_TRACE,), (6,)),
    FixedTrace: ("rank at most r and a fixed trace: factors of a fixed norm", SHEN, (_RANK, _TRACE), (6, 2)),
}

#: Class -> summary, reference, help texts of the fields for `--set`; types and defaults come from the fields.
METHODS: Mapping[type, tuple[str, str, Mapping[str, str]]] = {
    methods.ConjugateGradient: (
        "nonlinear conjugate gradient on the factor, exact line search",
        YUAN,
        {"update": "rule for beta: PR+, FR, HS, DY or none", **_PRECONDITIONER},
    ),
    methods.BlockConjugateGradient: (
        "best M in the span of factor, gradient and last direction",
        YUAN,
        {"preconditioner": "diagonal, problem, gram, none or auto"},
    ),
    methods.LBFGS: (
        "limited-memory BFGS on the factor, exact line search",
        YUAN,
        {"memory": "pairs kept", **_PRECONDITIONER},
    ),
    methods.LagrangeNewton: (
        "Newton on factor and multipliers, for quadratic fits of few measurements",
        f"Schur complement: {HELMBERG}",
        {"steps": "conjugate gradient steps before the first Newton step"},
    ),
    methods.EigenSplitting: (
        "quadratic F: the known minimiser, or splitting where the Hessian is diagonal",
        f"{YUAN}; Boyd, Parikh, Chu, Peleato, Eckstein (2011)",
        {"iterations": "iterations per step", "relaxation": "over-relaxation, 1 to 2"},
    ),
    methods.TrustRegions: ("Riemannian trust regions on the factor", "Absil, Baker, Gallivan (2007)", {}),
    methods.TruncatedNewton: (
        "Newton's method on the factor, systems by conjugate gradient",
        "Dembo, Steihaug (1983)",
        {"inner": "most Hessian products per step", **_PRECONDITIONER},
    ),
    methods.AugmentedLagrangian: (
        "linear constraints, by any method on the factor inside",
        "Burer, Monteiro (2003)",
        {"inside_steps": "steps of the method inside, per step"},
    ),
    methods.SphereGradient: (
        "linear F, fixed diagonal: conjugate gradient on a product of spheres",
        "Burer, Monteiro (2003)",
        {"iterations": "iterations per step"},
    ),
    methods.DualNewton: (
        "quadratic F, linear equations: semismooth Newton on the multipliers",
        "Qi, Sun (2006); Beck, Teboulle (2009)",
        {"inner": "most Hessian products per step"},
    ),
    methods.InteriorPoint: (
        "linear objective, linear constraints: primal-dual path following, by blocks",
        HELMBERG,
        {"share": "of the way to the boundary, per step"},
    ),
    methods.BoundaryPoint: (
        "linear objective, very many linear constraints: splitting on the dual",
        "Povh, Rendl, Wiegele (2006)",
        {"overshoot": "step relative to the residual", "depth": "steps from which it extrapolates"},
    ),
    methods.OnlineRiemannianGradient: (
        "mini-batch gradient steps over a stream of samples",
        MEYER,
        {"batch_size": "samples per step"},
    ),
    methods.FrankWolfe: (
        "conditional gradient over a fixed trace, fully corrective",
        "Hazan (2008); Jaggi (2013)",
        {"variant": "fully-corrective (auto) or vanilla"},
    ),
    methods.GrowingSamples: (
        "minima on samples of the rows, corrected and proven by passes over all rows",
        "Jordan, Lee, Yang (2019)",
        {"first": "share of the rows in the first sample", "growth": "of a sample that is too small"},
    ),
    methods.BILGO: (
        "bilateral greedy search for atoms on the cone, with local search",
        HAO,
        {"every": "atoms between two local searches"},
    ),
    methods.ProjectedGradient: (
        "accelerated projected gradient, full eigendecompositions",
        "Nesterov (1983)",
        {"accelerated": "Nesterov's momentum"},
    ),
    methods.ColumnGeneration: (
        "matrix generation with a stabilised master problem",
        SHEN,
        {
            "stabilization": "centre (auto) or none",
            "columns": "new columns per round",
            "max_columns": "most columns kept; the others are aggregated",
        },
    ),
    methods.ADMM: (
        "alternating directions on a bi-convex split, then a polish on the factor",
        HU,
        {"adapt": "adapt rho", "switch": "residual that starts polish"},
    ),
}


@hookimpl
def psdopt_components() -> Iterator[Spec]:
    """Geometries, methods, problems and data sets of the core."""
    for cls, (summary, reference, parameters, example) in GEOMETRIES.items():
        yield GeometrySpec(spoken(cls), cls, summary, reference, parameters, partial(cls, *example))
    for cls, (summary, reference, helps) in METHODS.items():
        yield MethodSpec(spoken(cls), cls, summary, reference, tuple(_parameters(cls, helps)))
    summary = "min tr((A M)²) + tr(B M²) + 2 tr(C M) over M ⪰ 0"
    yield ProblemSpec("quadratic-sdp", QuadraticSDP, summary, YUAN, example=_example_quadratic)
    for name, summary in BUNDLED.items():
        yield DatasetSpec(name, partial(bundled, name), summary, "scikit-learn", example=partial(bundled, "iris"))


def spoken(cls: type) -> str:
    """The name of a class in lower-case words joined by hyphens: PSDCone is psd-cone."""
    name = "OnlineGradient" if cls is methods.OnlineRiemannianGradient else cls.__name__
    return "-".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+", name)).lower()


def _parameters(cls: Any, helps: Mapping[str, str]) -> Iterator[Parameter]:
    """The fields in `helps` of the dataclass as parameters; an optional type counts as its first member."""
    kinds, defaults = get_type_hints(cls), {field.name: field.default for field in fields(cls)}
    for name, text in helps.items():
        kind = kinds[name]
        yield Parameter(name, get_args(kind)[0] if isinstance(kind, UnionType) else kind, defaults[name], text)


def _example_quadratic() -> QuadraticSDP:
    rng = np.random.default_rng(0)
    A, C = rng.standard_normal((6, 6)), rng.standard_normal((6, 6))
    return QuadraticSDP(A=A @ A.T, B=0.5, C=C + C.T)
