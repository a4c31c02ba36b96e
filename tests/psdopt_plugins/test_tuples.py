"""points_of_tuples: both ways of writing tuples give the samples that they stand for; anything else is refused."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt_plugins.tuples import points_of_tuples

X = np.random.default_rng(0).standard_normal((9, 4))
ROWS = {2: np.array([(3, 1), (8, 1), (0, 3)]), 3: np.array([(3, 1, 4), (8, 1, 0), (0, 3, 8)])}


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("form", ["points", "list", "array", "sparse", "function"])
def test_tuples_stand_for_their_samples(width, form):
    rows = ROWS[width]
    tuples, preprocessor = {
        "points": (X[rows], None), "list": (X[rows].tolist(), X), "array": (rows, X),
        "sparse": (rows.tolist(), sp.coo_array(X)), "function": (rows, lambda i: X[i]),
    }[form]  # fmt: skip
    samples, found = points_of_tuples(tuples, width, preprocessor)
    samples = samples.toarray() if sp.issparse(samples) else samples
    np.testing.assert_array_equal(samples[found], X[rows])
    written_once = form not in ("points", "list")
    assert len(samples) == (len(np.unique(rows)) if written_once else rows.size)


@pytest.mark.parametrize(
    ("tuples", "preprocessor", "error", "words"),
    [
        (ROWS[2], None, InvalidInputError, r"pairs must have shape \(p, 2, d\), .*; indices \(p, 2\) need a"),
        (X[ROWS[3]], None, InvalidInputError, r"found shape \(3, 3, 4\)"),
        (np.empty((0, 2, 4)), None, InvalidInputError, r"found shape \(0, 2, 4\)"),
        ([[X[0], X[1]], [X[0]]], None, InvalidInputError, "rows of different lengths"),
        (np.full((1, 2, 4), np.nan), None, InvalidInputError, "pairs must hold finite numbers"),
        ([(0, 9)], X, InvalidInputError, "pairs must hold indices between 0 and 8; found 9"),
        ([(0.5, 1.0)], X, InvalidTypeError, "pairs must hold integers"),
        ([(0, 1)], X[0], InvalidTypeError, r"preprocessor must be an array \(N, d\) of samples or a function"),
        ([(0, 1)], lambda i: X, InvalidInputError, "preprocessor must return 2 rows, one per index; found 9"),
    ],
)  # fmt: skip
def test_anything_else_is_refused(tuples, preprocessor, error, words):
    with pytest.raises(error, match=words):
        points_of_tuples(tuples, 2, preprocessor)
