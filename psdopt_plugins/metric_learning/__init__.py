"""Mahalanobis metrics learned from labels or pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psdopt import ConjugateGradient
from psdopt.linalg import Array
from psdopt.plugins import ApplicationSpec, DataNeeds, MethodSpec, Parameter, Spec, hookimpl, lazy_names

if TYPE_CHECKING:
    from psdopt_plugins.metric_learning.distance_regression import DistanceRegression as DistanceRegression
    from psdopt_plugins.metric_learning.distance_regression import pair_distance_problem as pair_distance_problem
    from psdopt_plugins.metric_learning.kta import KTA as KTA
    from psdopt_plugins.metric_learning.kta_problem import kta_problem as kta_problem
    from psdopt_plugins.metric_learning.linearity import Linearity as Linearity
    from psdopt_plugins.metric_learning.linearity import linearity_problem as linearity_problem
    from psdopt_plugins.metric_learning.lmnn import LMNN as LMNN
    from psdopt_plugins.metric_learning.lmnn_problem import lmnn_problem as lmnn_problem
    from psdopt_plugins.metric_learning.matrix_generation import MatrixGeneration as MatrixGeneration
    from psdopt_plugins.metric_learning.nca import NCA as NCA
    from psdopt_plugins.metric_learning.nca_problem import NeighbourhoodComponents as NeighbourhoodComponents
    from psdopt_plugins.metric_learning.nca_problem import nca_problem as nca_problem
    from psdopt_plugins.metric_learning.pairs_classifier import PairsClassifier as PairsClassifier
    from psdopt_plugins.metric_learning.psdboost import PSDBoost as PSDBoost
    from psdopt_plugins.metric_learning.psdboost import triplet_margin_problem as triplet_margin_problem
    from psdopt_plugins.metric_learning.report import metric_report as metric_report
    from psdopt_plugins.metric_learning.triplets_classifier import TripletsClassifier as TripletsClassifier

REFERENCE = "Yuan, Zhang, Ghanem: Low-rank optimization for quadratic SDP, section 2.2"
LMNN_REFERENCE = "Hao, Yuan, Ghanem: BILGO, eq. 8"
NCA_REFERENCE = "Goldberger, Roweis, Hinton, Salakhutdinov: Neighbourhood components analysis (2004)"
REGRESSION_REFERENCE = "Meyer, Bonnabel, Sepulchre: Regression on fixed-rank PSD matrices"
#: Both losses grow with the number and the scale of the samples, so the useful weights span many decades.
LAMS = tuple(10.0**k for k in range(-5, 2))
LABELLED = DataNeeds(samples=6, labels="classes", per_class=2, blocks=True)
RANK = Parameter("rank", int, None, "largest rank of M; none: no limit")

lazy = lazy_names(__name__)


@hookimpl
def psdopt_components() -> Iterable[Spec]:
    """Kernel target alignment, the linearity model, LMNN, NCA, PSDBoost and regression on pair distances."""
    yield from ApplicationSpec(
        name="metric-kta",
        factory=lazy.KTA,
        summary="metric whose kernel is closest to that of the labels",
        reference=f"{REFERENCE}, eq. 7",
        parameters=(
            RANK,
            Parameter("lam", float, 1e-2, "weight of the alignment", LAMS),
            Parameter("regularizer", str, "identity", "identity, frobenius or trace"),
        ),
        report=lazy.metric_report,
        problem=lazy.kta_problem,
        default_method=ConjugateGradient,
        default_data="concealed",
        needs=LABELLED,
    ).with_problem(
        summary="lam |X M Xᵀ − Y Yᵀ|² + Reg(M)",
        parameters=(Parameter("lam", float, 1e-2, "weight of the alignment", LAMS),),
        example=_kta_example,
    )
    yield from ApplicationSpec(
        name="metric-linear",
        factory=lazy.Linearity,
        summary="metric from similar and dissimilar pairs, in closed form",
        reference=f"{REFERENCE}, eq. 6",
        parameters=(
            RANK,
            Parameter("lam", float, 3e-3, "weight of the pairs", LAMS),
            Parameter("regularizer", str, "identity", "identity or frobenius"),
            Parameter("n_neighbors", int, 3, "pairs per sample, of its class and of the others"),
        ),
        report=lazy.metric_report,
        problem=lazy.linearity_problem,
        default_method=ConjugateGradient,
        default_data="wine",
        needs=LABELLED,
    ).with_problem(
        summary="Reg(M) + lam Σ S_ij d_M(x_i, x_j)",
        parameters=(Parameter("lam", float, 3e-3, "weight of the pairs", LAMS),),
        example=lambda: lazy.linearity_problem(*_samples_and_pairs(), 0.1),
    )
    yield from ApplicationSpec(
        name="metric-lmnn",
        factory=lazy.LMNN,
        summary="metric that keeps other classes away by a margin",
        reference=f"{LMNN_REFERENCE}; Weinberger and Saul (2009)",
        parameters=(
            RANK,
            Parameter("n_neighbors", int, 3, "target neighbours per sample"),
            Parameter("lam", float, 1.0, "weight of the impostors"),
        ),
        report=lazy.metric_report,
        problem=lazy.lmnn_problem,
        default_data="concealed",
        needs=LABELLED,
    ).with_problem(
        summary="Σ d_M(i, j) + lam Σ max(0, 1 + d_M(i, j) − d_M(i, k))²",
        reference=LMNN_REFERENCE,
        parameters=(Parameter("lam", float, 1.0, "weight of the margins"),),
        example=_lmnn_example,
    )
    yield from ApplicationSpec(
        name="metric-nca",
        factory=lazy.NCA,
        summary="metric under which nearest neighbours rarely err, no proof",
        reference=NCA_REFERENCE,
        parameters=(
            Parameter("rank", int, None, "largest rank of M; none: at most 60"),
            Parameter("n_neighbors", int, 10, "candidates per sample, of its class and of the others"),
            Parameter("lam", float, 5e-3, "weight of the trace, relative to the start"),
        ),
        report=lazy.metric_report,
        problem=lazy.nca_problem,
        default_data="wine",
        needs=replace(LABELLED, blocks=False),
    ).with_problem(
        summary="1/n Σ P(i picks a candidate of another class) + lam tr(M)",
        parameters=(Parameter("lam", float, 1e-2, "weight of the trace, > 0"),),
        example=_nca_example,
    )
    yield from ApplicationSpec(
        name="metric-psdboost",
        factory=lazy.PSDBoost,
        summary="metric with the largest soft margin over triplets",
        reference="Shen, Welsh, Wang: PSDBoost",
        parameters=(
            Parameter("nu", float, 0.1, "share of triplets that may fall below the margin"),
            Parameter("n_neighbors", int, 1, "triplets per sample: nearest of its class and of the others"),
        ),
        report=lazy.metric_report,
        problem=lazy.triplet_margin_problem,
        default_data="iris",
        needs=LABELLED,
    ).with_problem(
        name="triplet-margin",
        summary="min −(ρ − C Σ ξ_r), d_M(i, k) − d_M(i, j) >= ρ − ξ_r, to be minimised at a fixed trace",
        reference="Shen, Welsh, Wang: PSDBoost, eq. 3",
        parameters=(
            Parameter("C", float, None, "cost of a violation, at least 1/m; none: hard margin"),
            Parameter("smoothing", float, 0.0, "mu of the smoothed loss, for methods that need a gradient"),
        ),
        example=_triplet_example,
    )
    yield MethodSpec(
        name="matrix-generation",
        factory=lazy.MatrixGeneration,
        summary="PSDBoost's own algorithm: one column a round, weights by a linear program",
        reference="Shen, Welsh, Wang (2008), algorithm 1",
        parameters=(
            Parameter("stabilization", str, "smoothing", "smoothing of the duals, or none as printed"),
            Parameter("columns", int, 1, "new columns per round"),
            Parameter("max_columns", int, None, "most columns kept; the others are aggregated"),
        ),
        example=lazy.MatrixGeneration,
    )
    yield from ApplicationSpec(
        name="metric-distances",
        factory=lazy.DistanceRegression,
        summary="metric of low rank: similar pairs near, the others far",
        reference=f"{REGRESSION_REFERENCE}, section 8",
        parameters=(
            RANK,
            Parameter("geometry", str, "flat", "flat or polar"),
            Parameter("weight", float, 0.5, "of the polar metric"),
        ),
        report=lazy.metric_report,
        problem=lazy.pair_distance_problem,
        default_data="wine",
        needs=LABELLED,
    ).with_problem(
        summary="1/(2m) Σ max(0, d_M − upper)² over similar + max(0, lower − d_M)² over dissimilar pairs",
        reference=f"{REGRESSION_REFERENCE}, section 10.3",
        parameters=(
            Parameter("upper", float, None, "for similar pairs; none: the 5th percentile of distances"),
            Parameter("lower", float, None, "for dissimilar pairs; none: the 95th percentile"),
        ),
        example=lambda: lazy.pair_distance_problem(*_samples_and_pairs()),
    )


def _kta_example() -> Any:
    return lazy.kta_problem(np.random.default_rng(0).standard_normal((20, 5)), np.arange(20) % 3, 0.1)


def _triplet_example() -> Any:
    rng = np.random.default_rng(0)
    triplets = [rng.choice(12, 3, replace=False) for _ in range(20)]
    return lazy.triplet_margin_problem(rng.standard_normal((12, 5)), triplets, 0.2)


def _lmnn_example() -> Any:
    X = np.random.default_rng(0).standard_normal((9, 5))
    return lazy.lmnn_problem(X, [(0, 1), (1, 2), (4, 5)], [(0, 1, 5), (1, 2, 6), (1, 2, 7), (4, 5, 8)], 1.0)


def _nca_example() -> Any:
    X, first = np.random.default_rng(0).standard_normal((9, 5)), np.arange(9)[:, None]
    return lazy.nca_problem(X, np.arange(9) % 3, (first + np.array([0, 1, 3, 5, 6])) % 9, 0.01)


def _samples_and_pairs() -> tuple[Array, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    similar, dissimilar = np.array([(0, 1), (2, 3), (4, 5)]), np.array([(0, 6), (2, 7)])
    return np.random.default_rng(0).standard_normal((12, 5)), (similar, dissimilar)
