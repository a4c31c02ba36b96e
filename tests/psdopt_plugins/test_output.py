"""Estimators that give coordinates name their columns and give them as a frame where that is asked for."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from psdopt_plugins.kernel_learning import DistanceKernel, QuadraticKernel
from psdopt_plugins.manifold_learning import SSTRESS, MaximumVarianceUnfolding
from psdopt_plugins.metric_learning import KTA, LMNN, DistanceRegression, Linearity, PSDBoost

X, Y = load_iris(return_X_y=True)
X, Y = X[::5], Y[::5]
QUICK = {"max_iterations": 5}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [
        KTA(rank=2), Linearity(), LMNN(n_neighbors=1), PSDBoost(), DistanceRegression(random_state=0),
        QuadraticKernel(rank=2), DistanceKernel(rank=2, random_state=0, solver_options=QUICK),
        SSTRESS(solver_options=QUICK), MaximumVarianceUnfolding(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)  # fmt: skip
def test_columns_have_names_and_come_as_a_frame(estimator):
    pandas = pytest.importorskip("pandas")
    plain = np.asarray(estimator.fit_transform(X, Y))
    names = list(estimator.get_feature_names_out())
    assert names == [f"{type(estimator).__name__.lower()}{k}" for k in range(plain.shape[1])]
    framed = estimator.set_output(transform="pandas").fit_transform(X, Y)
    assert isinstance(framed, pandas.DataFrame)
    assert list(framed.columns) == names
