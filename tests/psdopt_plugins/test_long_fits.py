"""The estimate before a long fit: when it is said, what it names, how it is hidden or turned into a refusal."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.errors import UnknownNameError
from psdopt_plugins import long_fits
from psdopt_plugins.kernel_learning import DistanceKernel, PairwiseKernel, QuadraticKernel
from psdopt_plugins.long_fits import LONG, RATE, LongFitWarning, entries, products, quadratic_fit, say_if_long, search
from psdopt_plugins.manifold_learning import SSTRESS, MaximumVarianceUnfolding
from psdopt_plugins.metric_learning import KTA, LMNN, NCA, DistanceRegression, Linearity, PSDBoost
from psdopt_plugins.regression import PSDRegressor
from psdopt_plugins.relaxations import CommunityDetection

X = np.random.default_rng(0).standard_normal((60, 4))
Y = np.arange(60) % 3
TRIPLETS = np.array([[0, 3, 1], [4, 1, 2]])
ENOUGH = LONG * RATE


def said(estimator, once=0.0, run=0.0):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        say_if_long(estimator, (7, 5), once, run, numbers=2**28, shorter="a smaller rank")
    return [str(one.message) for one in caught]


def test_an_estimate_above_the_limit_is_said_with_all_that_it_names():
    assert said(NCA(), 0.5 * ENOUGH, 0.49 * ENOUGH) == []
    expected = "NCA on data of shape (7, 5) is expected to take about 10 minutes of processor time and 2.0 GiB of"
    assert said(NCA(), 2.0 * ENOUGH, 18.0 * ENOUGH) == [
        f"{expected} memory; less with a smaller rank, or with max_time in solver_options"
    ]
    (closed,) = said(NCA(), 1.0 * ENOUGH, 0.1 * ENOUGH)
    assert "33 seconds" in closed
    assert "max_time" not in closed
    assert "50 hours" in said(NCA(), 6000.0 * ENOUGH)[0]


def test_a_time_limit_counts_instead_of_the_run_alone():
    limited = NCA(solver_options={"max_time": 0.5 * LONG})
    assert said(limited, 0.4 * ENOUGH, 1e6 * ENOUGH) == []
    assert said(limited, 0.6 * ENOUGH, 1e6 * ENOUGH)
    assert said(NCA(solver_options={"max_time": None}), 0.0, 2.0 * ENOUGH)
    with pytest.raises(UnknownNameError, match="solver option"):
        said(NCA(solver_options={"maxtime": 1.0}))


def test_operations_are_those_of_the_formulas():
    sparse = sp.random_array((60, 40), density=0.1, rng=0, format="csr")
    assert (entries(X), entries(sparse)) == (240, sparse.nnz)
    assert products(X, 10) == 240 * 40
    assert search(10, X) == 10 * (60 + 720) == 2.0 * search(10, X, 0.5)
    assert quadratic_fit(X, None, 50) == (240 + 9 * 4**3, 0.0)
    assert quadratic_fit(X, 2, 50) == (240, 50 * 4**2 * 32)
    assert quadratic_fit(sp.csr_array((10, 5000)), None, 50) == (0.0, 0.0)


FITS = [
    (KTA(), {}, "features"),
    (Linearity(), {}, "max_samples"),
    (Linearity(), {"pairs": ([(0, 3)], [(0, 1)])}, "features"),
    (PSDBoost(), {}, "max_samples"),
    (PSDBoost(), {"triplets": TRIPLETS}, "triplets"),
    (LMNN(), {}, "max_samples or rank"),
    (LMNN(), {"triplets": TRIPLETS}, "triplets"),
    (NCA(), {}, "max_samples or rank"),
    (DistanceRegression(), {}, "pairs"),
    (PSDRegressor(random_state=0), {}, "rank"),
    (PairwiseKernel(random_state=0), {}, "max_samples or rank"),
    (DistanceKernel(random_state=0), {}, "fewer samples"),
    (QuadraticKernel(), {}, "fewer samples"),
    (SSTRESS(), {}, "fewer samples"),
    (MaximumVarianceUnfolding(), {}, "max_samples"),
    (CommunityDetection(random_state=0), {}, "fewer samples"),
]


@pytest.mark.parametrize(("estimator", "given", "shorter"), FITS, ids=[f"{e}-{len(g)}" for e, g, _ in FITS])
def test_a_fit_says_its_estimate_once_where_it_was_called_and_before_it_starts(monkeypatch, estimator, given, shorter):
    monkeypatch.setattr(long_fits, "LONG", 0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, Y, **given)
    first, *others = [one for one in caught if one.category is LongFitWarning]
    assert (first.filename, others) == (__file__, [])
    name = type(estimator).__name__
    assert str(first.message).startswith(f"{name} on data of shape (60, 4) is expected to take about")
    assert shorter in str(first.message)
    fresh = type(estimator)(**estimator.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("error", LongFitWarning)
        with pytest.raises(LongFitWarning):
            fresh.fit(X, Y, **given)
    assert not hasattr(fresh, "result_")


def test_the_warning_is_hidden_by_its_category(monkeypatch):
    monkeypatch.setattr(long_fits, "LONG", 0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=LongFitWarning)
        assert NCA().fit(X, Y).result_.status.label == "stationary"
    assert caught == []


def test_the_largest_fits_are_said_at_sizes_at_which_they_were_measured():
    """100,000 × 50 took NCA 43 s and MVU a minute; KTA, Linearity and DistanceRegression a few seconds."""
    many = np.broadcast_to(np.zeros(1), (100_000, 50))
    assert ENOUGH / 3 < 2 * search(20_000, many) < 3 * ENOUGH
    assert sum(quadratic_fit(many, None, 1)) < ENOUGH / 3
    assert 40 * products(many, 50) < ENOUGH / 3
