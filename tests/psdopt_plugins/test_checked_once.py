"""The user's arrays are looked through once, where they enter: counted in the functions that look."""

import pickle

import numpy as np
import pytest
from sklearn.utils import validation

import psdopt.checks
from psdopt.checks import CheckedIndices, indices
from psdopt.errors import InvalidInputError
from psdopt_plugins.kernel_learning import PairwiseKernel, pairwise_kernel_problem
from psdopt_plugins.metric_learning import KTA, LMNN, DistanceRegression, Linearity, PSDBoost, triplet_margin_problem
from psdopt_plugins.pairs import checked_triplets
from psdopt_plugins.regression import PSDRegressor
from psdopt_plugins.relaxations import CommunityDetection, LovaszTheta, MaxCut, NearestCorrelation, maxcut_problem
from psdopt_plugins.relaxations.graphs import Graph
from psdopt_plugins.spectral import TopKEigen

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((40, 3)), np.arange(40) % 3
TRIPLETS = np.array([RNG.choice(40, 3, replace=False) for _ in range(150)])
PAIRS = np.column_stack([RNG.permutation(40)[:30], RNG.permutation(40)[:30]])
PAIRS = PAIRS[PAIRS[:, 0] != PAIRS[:, 1]]
SIGNED = np.column_stack([PAIRS, np.where(Y[PAIRS[:, 0]] == Y[PAIRS[:, 1]], 1, -1)])
HALF = np.triu((RNG.random((30, 30)) < 0.5) * RNG.random((30, 30)), 1)
WEIGHTS = HALF + HALF.T
OPTIONS = {"max_iterations": 1}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:the learned matrix")


@pytest.fixture
def looks(monkeypatch):
    """(arrays that were looked through for NaN, arrays whose range of indices was looked at), as they come."""
    numbers, ranges = [], []

    def recorded(kept, function):
        def recording(values, *others, **keywords):
            kept.append(np.array(values))
            return function(values, *others, **keywords)

        return recording

    monkeypatch.setattr(np, "isfinite", recorded(numbers, np.isfinite))
    monkeypatch.setattr(validation, "_assert_all_finite", recorded(numbers, validation._assert_all_finite))
    monkeypatch.setattr(psdopt.checks, "_outside", recorded(ranges, psdopt.checks._outside))
    return numbers, ranges


def count(looked, given):
    """How many of the arrays `looked` are `given`, one of its columns, or its entries beside zeros; times a number."""
    parts = (given, given[given != 0.0], *given.T)
    return sum(any(array.shape == part.shape and parallel(array, part) for part in parts) for array in looked)


def parallel(a, b):
    a, b = np.ravel(a).astype(float), np.ravel(b).astype(float)
    return abs(a @ b) > (1.0 - 1e-12) * np.linalg.norm(a) * np.linalg.norm(b) > 0.0


#: Name -> (call, array that it is given); the first are looked through for NaN, the second for their range.
NUMBERS = {
    "MaxCut": (lambda: MaxCut(solver_options=OPTIONS).fit(WEIGHTS), WEIGHTS),
    "maxcut_problem": (lambda: maxcut_problem(WEIGHTS), WEIGHTS),
    "LovaszTheta": (lambda: LovaszTheta(OPTIONS).fit(WEIGHTS), WEIGHTS),
    "CommunityDetection": (
        lambda: CommunityDetection(2, affinity="precomputed", solver_options=OPTIONS).fit(WEIGHTS), WEIGHTS,
    ),
    "NearestCorrelation": (lambda: NearestCorrelation(solver_options=OPTIONS).fit(WEIGHTS), WEIGHTS),
    "TopKEigen": (lambda: TopKEigen(2).fit(WEIGHTS), WEIGHTS),
    "KTA": (lambda: KTA(solver_options=OPTIONS).fit(X, Y), X),
    "Linearity": (lambda: Linearity(solver_options=OPTIONS).fit(X, Y), X),
    "PSDBoost": (lambda: PSDBoost(solver_options=OPTIONS).fit(X, Y), X),
    "DistanceRegression": (lambda: DistanceRegression(solver_options=OPTIONS).fit(X, Y), X),
    "PSDRegressor": (lambda: PSDRegressor(solver_options=OPTIONS).fit(X, X[:, 0] ** 2), X),
}  # fmt: skip
INDICES = {
    "PSDBoost": (lambda: PSDBoost(solver_options=OPTIONS).fit(X, triplets=TRIPLETS), TRIPLETS),
    "LMNN": (lambda: LMNN(solver_options=OPTIONS).fit(X, triplets=TRIPLETS), TRIPLETS),
    "LMNN.partial_fit": (lambda: LMNN().partial_fit(X, triplets=TRIPLETS), TRIPLETS),
    "triplet_margin_problem": (lambda: triplet_margin_problem(X, TRIPLETS), TRIPLETS),
    "DistanceRegression": (lambda: DistanceRegression(solver_options=OPTIONS).fit(X, pairs=SIGNED), PAIRS),
    "DistanceRegression.partial_fit": (lambda: DistanceRegression().partial_fit(X, pairs=SIGNED), PAIRS),
    "Linearity": (lambda: Linearity(solver_options=OPTIONS).fit(X, pairs=SIGNED), PAIRS),
    "PairwiseKernel": (lambda: PairwiseKernel(solver_options=OPTIONS).fit(X, must_link=PAIRS), PAIRS),
    "pairwise_kernel_problem": (lambda: pairwise_kernel_problem(np.eye(40), PAIRS, np.ones(len(PAIRS))), PAIRS),
}


@pytest.mark.parametrize(("kind", "name"), [*((0, name) for name in NUMBERS), *((1, name) for name in INDICES)])
def test_what_is_given_is_looked_through_once(kind, name, looks):
    made, given = (NUMBERS, INDICES)[kind][name]
    made()
    assert count(looks[kind], given) == 1


def test_what_was_checked_stays_as_it_was():
    given = TRIPLETS.copy()
    checked = checked_triplets(given, 40)
    given[:] = -1
    np.testing.assert_array_equal(checked, TRIPLETS)
    assert checked_triplets(checked, 40) is checked
    assert indices(checked[:, 0], "i", 41) is not given
    with pytest.raises(ValueError, match="read-only"):
        checked.array[0] = 7
    with pytest.raises(InvalidInputError, match="triplets must hold indices between 0 and 30; found"):
        checked_triplets(checked, 31)
    with pytest.raises(InvalidInputError, match=r"i must have shape \(m,\); found \(150, 3\)"):
        indices(checked, "i", 40)
    for each in (checked, Graph.of(WEIGHTS)):
        assert type(again := pickle.loads(pickle.dumps(each))) is type(each)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(checked)), TRIPLETS)
    assert Graph.of(again) is again
    assert (again.weights != Graph.of(WEIGHTS).weights).nnz == 0
    np.testing.assert_array_equal(CheckedIndices(np.array([1, 2], dtype=np.int32), 3)[1:], [2])
