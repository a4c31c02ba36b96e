"""Estimators: a parameter of a wrong type or value is accepted, or refused by one error of the library's own in fit."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.errors import PsdoptError
from psdopt_plugins import kernel_learning, manifold_learning, metric_learning, regression, relaxations, spectral

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 12)
X = RNG.standard_normal((24, 3)) + 2.0 * Y[:, None]
UPPER = np.triu(RNG.random((14, 14)) < 0.4, 1).astype(float)
GRAPH = UPPER + UPPER.T
#: Estimator -> what its fit takes.
FITS: dict[type, tuple[Any, ...]] = {
    metric_learning.KTA: (X, Y),
    metric_learning.LMNN: (X, Y),
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
        settings = {"solver_options": {"max_iterations": 3}} | {name: value}
        try:
            estimator(**settings).fit(*FITS[estimator])
        except PsdoptError:
            continue
        except Exception as error:
            foreign.append(f"{value!r:.60}: {type(error).__name__}: {error!s:.100}")
    assert not foreign, "\n".join(foreign)
