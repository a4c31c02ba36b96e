"""The core's own contributions, through the same door as everybody's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from psdopt.datasets import BUNDLED, Dataset, bundled
from psdopt.geometries import FlatQuotient, PSDCone
from psdopt.methods import LBFGS, ClosedForm, ConjugateGradient, TrustRegions
from psdopt.plugins.hookspec import hookimpl
from psdopt.plugins.specs import DatasetSpec, GeometrySpec, MethodSpec, Parameter, ProblemSpec, Spec
from psdopt.problems import QuadraticSDP

YUAN = "Yuan, Zhang, Ghanem, Hao: Low-Rank Quadratic Semidefinite Programming"
MEYER = "Meyer, Bonnabel, Sepulchre: Regression on Fixed-Rank Positive Semidefinite Matrices"

_SEARCH = Parameter("search", str, "exact", "line search: exact or armijo")
_PRECONDITIONER = Parameter("preconditioner", str, "auto", "auto, gram, problem or none")


@hookimpl
def psdopt_components() -> Iterator[Spec]:
    """Geometries, methods, problems and data sets of the core."""
    yield from _geometries()
    yield from _methods()
    yield ProblemSpec(
        "quadratic-sdp", QuadraticSDP, "min tr((A M)²) + tr(B M²) + 2 tr(C M) over M ⪰ 0", YUAN,
        example=_example_quadratic,
    )  # fmt: skip
    for name, summary in BUNDLED.items():
        yield DatasetSpec(name, partial(bundled, name), summary, "scikit-learn", example=_example_dataset)


def _geometries() -> Iterator[Spec]:
    yield GeometrySpec(
        "flat-quotient", FlatQuotient, "rank at most r: factors Y (n, r) up to rotation, flat metric", MEYER,
        (Parameter("r", int, None, "rank (also --rank)"),), partial(FlatQuotient, 6, 2),
    )  # fmt: skip
    yield GeometrySpec("psd-cone", PSDCone, "all PSD matrices of order n, no rank limit", example=partial(PSDCone, 6))


def _methods() -> Iterator[Spec]:
    yield MethodSpec(
        "conjugate-gradient", ConjugateGradient, "nonlinear conjugate gradient on the factor, exact line search", YUAN,
        (Parameter("update", str, "PR+", "rule for beta: PR+, FR, HS or DY"), _SEARCH, _PRECONDITIONER),
        ConjugateGradient,
    )  # fmt: skip
    yield MethodSpec(
        "lbfgs", LBFGS, "limited-memory BFGS on the factor, exact line search", YUAN,
        (Parameter("memory", int, 20, "pairs kept"), _SEARCH, _PRECONDITIONER), LBFGS,
    )  # fmt: skip
    yield MethodSpec(
        "closed-form", ClosedForm, "the known minimiser, for problems that have one", YUAN, example=ClosedForm
    )
    yield MethodSpec(
        "trust-regions", TrustRegions, "pymanopt's Riemannian trust regions on the factor",
        "Absil, Baker, Gallivan (2007)", example=TrustRegions,
    )  # fmt: skip


def _example_quadratic() -> QuadraticSDP:
    rng = np.random.default_rng(0)
    A, C = rng.standard_normal((6, 6)), rng.standard_normal((6, 6))
    return QuadraticSDP(A=A @ A.T, B=0.5, C=C + C.T)


def _example_dataset() -> Dataset:
    return bundled("iris")
