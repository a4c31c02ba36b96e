"""Estimators that units or an offset of the features would spoil say so, and what to do."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from psdopt_plugins.metric_learning.kta import KTA
from psdopt_plugins.metric_learning.nca import NCA
from psdopt_plugins.rows import warn_of_offset, warn_of_units


def warnings_of(X, hidden="it"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_units(X, "Learner")
        if hidden:
            warn_of_offset(X, "Learner", hidden)
    return [str(one.message) for one in caught]


@pytest.mark.filterwarnings("ignore:psdopt.solve ended", "ignore:the learned matrix is M = 0")
@pytest.mark.parametrize("estimator", [KTA(), NCA()], ids=repr)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_unlike_units_are_named_with_what_to_do(estimator, kind):
    X, y = load_iris(return_X_y=True)
    X = kind(np.column_stack([X, 1e9 * np.random.default_rng(0).standard_normal(150)]))
    said = rf"standardised for {type(estimator).__name__}: .*; found 0\.4 for number 1 and 1e\+09 for number 4"
    with pytest.warns(UserWarning, match=said):
        estimator.fit(X, y)


@pytest.mark.filterwarnings("ignore:psdopt.solve ended")
def test_an_offset_is_named_where_it_matters():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match=r"centred or standardised for KTA: .* number 1, of 2e\+08 times"):
        KTA(solver_options={"max_iterations": 50}).fit(X + 1e8, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NCA().fit(X + 1e8, y)  # which looks at differences alone


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_ordinary_data_call_for_no_advice(load, kind):
    X = load(return_X_y=True)[0]
    ones = np.ones(len(X))
    constant = np.column_stack([X, 1e12 * ones, 0.1 * ones, 1e3 * (1.0 + 1e-3 * X[:, 0]), 0.0 * ones])
    assert warnings_of(kind(constant)) == []
    assert warnings_of(kind(np.zeros((3, 2)))) == []
    assert warnings_of(kind(np.ones((1, 2)))) == []


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_the_factors_are_a_million(kind):
    X = np.random.default_rng(0).standard_normal((50, 2))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert warnings_of(kind(X * [1.0, 0.9e6])) == []
    assert len(warnings_of(kind(X * [1.0, 1.1e6]))) == 1
    assert warnings_of(kind(X - [0.0, 0.9e6])) == []
    assert len(warnings_of(kind(X - [0.0, 1.1e6]))) == 1
    assert warnings_of(kind(X - [0.0, 1.1e6]), hidden="") == []
