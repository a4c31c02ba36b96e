"""Estimators: a parameter of a wrong type or value is accepted, or refused in fit by one error that names it."""

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import ConjugateGradient
from psdopt.errors import InvalidInputError, PsdoptError, UnknownNameError
from psdopt_plugins import (
    covariance,
    hermitian,
    kernel_learning,
    manifold_learning,
    metric_learning,
    regression,
    relaxations,
    spectral,
)

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 12)
X = RNG.standard_normal((24, 3)) + 2.0 * Y[:, None]
UPPER = np.triu(RNG.random((14, 14)) < 0.4, 1).astype(float)
GRAPH = UPPER + UPPER.T
#: Estimator -> what its fit takes.
FITS: dict[type, tuple[Any, ...]] = {
    covariance.SparsePrecision: (X,),
    hermitian.StateTomography: ([[1], [3]], [0.5, 0.2]),
    hermitian.StateFromCounts: ([[1, 0], [3, 1]], [5, 3]),
    hermitian.ProcessTomography: ([[1, 1], [3, 3]], [0.5, 0.9]),
    hermitian.PhaseRetrieval: (X[:, [0, 1]], X[:, 0] ** 2),
    metric_learning.KTA: (X, Y),
    metric_learning.LMNN: (X, Y),
    metric_learning.NCA: (X, Y),
    metric_learning.Linearity: (X, Y),
    metric_learning.DistanceRegression: (X, Y),
    metric_learning.PSDBoost: (X, Y),
    kernel_learning.PairwiseKernel: (X, Y),
    kernel_learning.DistanceKernel: (X, Y),
    kernel_learning.QuadraticKernel: (X, Y),
    manifold_learning.SSTRESS: (X,),
    manifold_learning.MaximumVarianceUnfolding: (X,),
    regression.PSDRegressor: (X, X[:, 0] ** 2),
    relaxations.MaxCut: (GRAPH,),
    relaxations.NearestCorrelation: (0.5 * GRAPH + 0.5 * np.eye(14),),
    relaxations.LovaszTheta: (GRAPH,),
    relaxations.CommunityDetection: (GRAPH,),
    spectral.TopKEigen: (GRAPH,),
}
WRONG: tuple[Any, ...] = (
    None, -1, 0, 1.5, float("nan"), "x", [], {}, object(), [1, "a"], [[1, 2], [3]], np.array([np.nan] * 3),
    np.array(["a"]), sp.csr_array(np.ones((2, 3))), 1 + 2j,
)  # fmt: skip


def solves(estimator: type) -> bool:
    return "solver_options" in inspect.signature(estimator).parameters


def brief(estimator: type) -> dict[str, Any]:
    """Parameters of a fit of a few steps."""
    return {"solver_options": {"max_iterations": 3}} if solves(estimator) else {"max_iter": 3}


def parameters() -> list[Any]:
    return [
        pytest.param(estimator, name, id=f"{estimator.__name__}-{name}")
        for estimator in FITS
        for name in inspect.signature(estimator).parameters
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "name"), parameters())
def test_a_wrong_parameter_is_accepted_or_refused_in_our_words(estimator: Any, name: str) -> None:
    foreign = []
    for value in WRONG:
        settings = {**brief(estimator), name: value}
        try:
            estimator(**settings).fit(*FITS[estimator])
        except PsdoptError as error:
            if name not in str(error):
                foreign.append(f"{value!r:.60}: does not name it: {error!s:.100}")
        except Exception as error:
            foreign.append(f"{value!r:.60}: {type(error).__name__}: {error!s:.100}")
    assert not foreign, "\n".join(foreign)


@pytest.mark.parametrize("method", [{}, {"method": ConjugateGradient()}], ids=["default", "given"])
@pytest.mark.parametrize("estimator", [*filter(solves, FITS)], ids=lambda estimator: estimator.__name__)
def test_an_unknown_solver_option_is_told(estimator: Any, method: dict[str, Any]) -> None:
    with pytest.raises(UnknownNameError, match="unknown solver option 'tolerance'; did you mean 'tol'"):
        estimator(solver_options={"tolerance": 1e-3, **method}).fit(*FITS[estimator])


@pytest.mark.parametrize("name", ["KTA", "Linearity", "LMNN", "NCA", "DistanceRegression", "QuadraticKernel"])
def test_a_single_class_is_told(name: str) -> None:
    (estimator,) = [known for known in FITS if known.__name__ == name]
    with pytest.raises(InvalidInputError, match="y must hold at least 2 classes; found only 0"):
        estimator().fit(X, 0 * Y)


#: Values of the right type that no fit can do with.
REFUSED: dict[type, dict[str, tuple[Any, ...]]] = {
    covariance.SparsePrecision: {"alpha": (-1, np.nan), "covariance": ("given",), "tol": (0.0,), "max_iter": (0,)},
    metric_learning.KTA: {"rank": (0, 4), "lam": (-1,), "regularizer": ("frobenious",)},
    metric_learning.Linearity: {"rank": (0, 4), "lam": (-1,), "regularizer": ("frobenious",), "n_neighbors": (0,)},
    metric_learning.LMNN: {"n_neighbors": (0,), "rank": (9,), "max_rounds": (0,), "max_samples": (0,), "lam": (-1.0,)},
    metric_learning.NCA: {"n_neighbors": (0,), "rank": (9,), "max_rounds": (0,), "max_samples": (0,), "lam": (0.0,)},
    metric_learning.PSDBoost: {"nu": (0.0, 1.5), "C": (1e-6,), "n_neighbors": (0,)},
    metric_learning.DistanceRegression: {"bounds": ((4.0, 1.0), (-1.0, 1.0), (1.0,), (np.nan, 1.0))},
    kernel_learning.QuadraticKernel: {"rank": (0, 25), "bandwidth": (0.0, -1.0, np.nan, "wide"), "jitter": (-1,)},
    kernel_learning.PairwiseKernel: {"laplacian": ("cosine",), "rank": ("best",), "n_clusters": (0,)},
    manifold_learning.MaximumVarianceUnfolding: {
        "n_components": (0,), "n_neighbors": (30,), "nu": (-1.0,), "edge_error": (0.0,), "disconnected": ("ignore",),
    },
    regression.PSDRegressor: {"geometry": ("round",), "fit_intercept": ("no",)},
    relaxations.MaxCut: {"trials": (0,)},
    relaxations.CommunityDetection: {"n_clusters": (0, 15), "resolution": (0.0,), "affinity": ("rbf",)},
    relaxations.NearestCorrelation: {"rank": (0, 15), "weights": (np.zeros(14), np.ones(4), -np.ones((14, 14)))},
    spectral.TopKEigen: {"guard": (-1,), "k": (15,), "algorithm": ("lanczo",), "tol": (2,)},
}  # fmt: skip


@pytest.mark.parametrize("estimator", REFUSED, ids=lambda estimator: estimator.__name__)
def test_values_out_of_range_are_refused_by_name(estimator: Any) -> None:
    for name, values in REFUSED[estimator].items():
        for value in values:
            with pytest.raises((InvalidInputError, UnknownNameError, TypeError), match=name):
                estimator(**{name: value}).fit(*FITS[estimator])
