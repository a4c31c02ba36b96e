"""Kernels learned from a base kernel and pairs of samples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from psdopt.plugins import ApplicationSpec, DataNeeds, Parameter, Spec, hookimpl, lazy_names

if TYPE_CHECKING:
    from psdopt_plugins.kernel_learning.distance_kernel import DistanceKernel as DistanceKernel
    from psdopt_plugins.kernel_learning.distance_kernel import (
        distance_kernel_problem as distance_kernel_problem,
    )
    from psdopt_plugins.kernel_learning.estimator import QuadraticKernel as QuadraticKernel
    from psdopt_plugins.kernel_learning.graphs import knn_laplacian as knn_laplacian
    from psdopt_plugins.kernel_learning.pairwise_estimator import PairwiseKernel as PairwiseKernel
    from psdopt_plugins.kernel_learning.pairwise_problem import PairwiseKernelProblem as PairwiseKernelProblem
    from psdopt_plugins.kernel_learning.pairwise_problem import pairwise_kernel_problem as pairwise_kernel_problem
    from psdopt_plugins.kernel_learning.problem import QuadraticKernelProblem as QuadraticKernelProblem
    from psdopt_plugins.kernel_learning.problem import quadratic_kernel_problem as quadratic_kernel_problem
    from psdopt_plugins.kernel_learning.report import kernel_report as kernel_report

REFERENCE = "Yuan, Zhang, Ghanem: Low-rank optimization for quadratic SDP, section 2.3, eq. 10"
ADMM_REFERENCE = "Hu, Kwok: Efficient kernel learning from side information using ADMM"
REGRESSION_REFERENCE = "Meyer, Bonnabel, Sepulchre: Regression on fixed-rank PSD matrices"

lazy = lazy_names(__name__)


@hookimpl
def psdopt_components() -> Iterable[Spec]:
    """Kernels from pairs with the quadratic regulariser, from must-links and cannot-links, and from distances."""
    yield from ApplicationSpec(
        name="kernel-quadratic",
        factory=lazy.QuadraticKernel,
        summary="kernel near a Gaussian one that respects similar pairs",
        reference=REFERENCE,
        parameters=(
            Parameter("rank", int, None, "largest rank of K; none: no limit"),
            Parameter("tau", float, 0.0, "weight of the trace; larger values lower the rank"),
            Parameter("lam", float, 1.0, "weight of the pairs"),
            Parameter("bandwidth", float, None, "of the Gaussian kernel; none: the median distance"),
            Parameter("n_neighbors", int, 3, "pairs per sample, of its class and of the others"),
        ),
        report=lazy.kernel_report,
        problem=lazy.quadratic_kernel_problem,
        default_data="concealed",
        needs=DataNeeds(samples=3, sparse=False, labels="classes"),
    ).with_problem(
        summary="tr((N⁻¹K)²) + tr((tau N⁻¹ + lam T) K)",
        parameters=(
            Parameter("tau", float, 0.0, "weight of the trace"),
            Parameter("lam", float, 1.0, "weight of the pairs"),
        ),
        example=_example,
    )
    yield from ApplicationSpec(
        name="kernel-pairwise",
        factory=lazy.PairwiseKernel,
        summary="kernel and clusters that obey must-links and cannot-links",
        reference=ADMM_REFERENCE,
        parameters=(
            Parameter("gamma", float, 10.0, "weight of the pairs"),
            Parameter("n_neighbors", int, 5, "of the graph"),
            Parameter("n_pairs", float, 0.6, "pairs sampled from labels, per sample"),
        ),
        report=lazy.kernel_report,
        problem=lazy.pairwise_kernel_problem,
        default_data="iris",
        needs=DataNeeds(samples=3, labels="classes"),
    ).with_problem(
        summary="tr(K L) + gamma/2 Σ (K_ij − T_ij)²",
        reference=f"{ADMM_REFERENCE}, eq. 1",
        parameters=(Parameter("gamma", float, 10.0, "weight of the pairs"),),
        example=_pairwise_example,
    )
    yield from ApplicationSpec(
        name="kernel-distances",
        factory=lazy.DistanceKernel,
        summary="kernel of low rank whose distances follow those given",
        reference=f"{REGRESSION_REFERENCE}, section 8",
        parameters=(
            Parameter("rank", int, 10, "rank of the kernel"),
            Parameter("alpha", float, 0.25, "slack of the distances"),
        ),
        report=lazy.kernel_report,
        problem=lazy.distance_kernel_problem,
        default_data="iris",
        needs=DataNeeds(samples=3, labels="classes"),
    ).with_problem(
        summary="1/(2m) Σ loss(K_ii + K_jj − 2 K_ij)",
        reference=f"{REGRESSION_REFERENCE}, sections 9.1 and 10.2",
        parameters=(Parameter("alpha", float, 0.0, "slack of the distances"),),
        example=_distance_example,
    )


def _example() -> Any:
    N = 0.5 ** np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    E = np.eye(6)
    pairs = [(0, 1, 1.0), (3, 4, 1.0), (0, 4, -1.0), (1, 5, -1.0)]
    T = sum(s * np.outer(E[i] - E[j], E[i] - E[j]) for i, j, s in pairs)
    return lazy.quadratic_kernel_problem(N, T, 0.1, 1.0)


def _pairwise_example() -> Any:
    L = lazy.knn_laplacian(np.random.default_rng(0).standard_normal((12, 2)), 3)
    return lazy.pairwise_kernel_problem(L, [(0, 1), (1, 2), (3, 4), (0, 5), (2, 7)], [1, 1, 1, 0, 0])


def _distance_example() -> Any:
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 3), (1, 5)]
    return lazy.distance_kernel_problem(6, pairs, np.linspace(0.5, 2.0, 7), np.arange(7) % 2 == 0, 0.25)
