"""Estimators under scikit-learn's array API dispatch, each in a process whose SciPy was told before its import."""

import os
import subprocess
import sys

import pytest

from tests.devices.libraries import LIBRARIES

SCRIPT = """
import sys
import numpy as np
import pytest
from sklearn import config_context
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt_plugins.metric_learning import KTA, LMNN
from psdopt_plugins.spectral import TopKEigen
from tests.devices.libraries import fetched, is_of, sent

library = sys.argv[1]
rng = np.random.default_rng(0)
y = rng.integers(3, size=40)
X = rng.standard_normal((40, 6))
X[:, :3] += 2.0 * np.eye(3)[y]
K, w = X @ X.T - np.eye(40), rng.random(40)
there, labels = sent(library, X), sent(library, y)


def close(found, expected):
    assert is_of(library, found)
    np.testing.assert_allclose(fetched(found), expected, rtol=1e-9, atol=1e-9)


with config_context(array_api_dispatch=True):
    for options in ({}, {"sample_weight": w}):
        model, known = KTA(rank=3).fit(there, labels, **options), KTA(rank=3).fit(X, y, **options)
        close(model.components_, known.components_)
        close(model.transform(there), known.transform(X))
        close(model.get_mahalanobis_matrix(), known.get_mahalanobis_matrix())
        close(model.result_.matrix.to_dense(), known.result_.matrix.to_dense())
    assert model.n_features_in_ == 6
    for algorithm in ("lanczos", "factor"):
        model, known = TopKEigen(3, algorithm).fit(sent(library, K)), TopKEigen(3, algorithm).fit(K)
        for name in ("eigenvalues_", "eigenvectors_", "residuals_"):
            close(getattr(model, name), getattr(known, name))
        close(model.approximation_.factor, known.approximation_.factor)
        close(model.transform(sent(library, K)), known.transform(K))
        close(model.solve_shifted(sent(library, w), 0.5), known.solve_shifted(w, 0.5))
    with pytest.raises(InvalidTypeError, match="X must be a NumPy array for LMNN; found an array of"):
        LMNN().fit(there, labels)
    with pytest.raises(InvalidInputError, match="y must have shape"):
        KTA().fit(there, labels[:-1])
    with pytest.raises(InvalidInputError, match="X must be finite; found 1 NaN"):
        KTA().fit(sent(library, np.where(X == X[0, 0], np.nan, X)), labels)
    assert isinstance(KTA(rank=3).fit(X, y).components_, np.ndarray)
if library == "torch":  # without dispatch scikit-learn makes NumPy arrays of what is on the host, and refuses the rest
    assert isinstance(KTA(rank=3).fit(there, y).components_, np.ndarray)
else:
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        KTA(rank=3).fit(there, y)
"""


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_fitted_is_of_the_library_of_X(library: str) -> None:
    if library == "torch":
        pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, library],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert done.returncode == 0, done.stderr
