"""Estimators on rows that are read in blocks: the answer of the array, and nothing loaded whole."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import row_sources
from psdopt.linalg.limits import BLOCK
from psdopt_plugins.kernel_learning import DistanceKernel, PairwiseKernel, QuadraticKernel
from psdopt_plugins.manifold_learning import SSTRESS, MaximumVarianceUnfolding
from psdopt_plugins.metric_learning import KTA, LMNN, DistanceRegression, Linearity, PSDBoost
from psdopt_plugins.regression import PSDRegressor
from psdopt_plugins.rows import validated
from tests.psdopt_plugins.instances import OnDisk

PAIRS = [[0, 1, 1], [60, 61, 1], [150, 151, 1], [0, 60, -1], [1, 150, -1], [61, 151, -1], [2, 90, -1]]
TRIPLETS = [[0, 1, 60], [60, 61, 150], [150, 151, 0], [5, 9, 100]]

MANY = [[i, (i + 7) % 50, 60 + i] for i in range(50)] + [[90 + i, 70 + i, 2 * i] for i in range(25)]


@pytest.fixture
def wine(monkeypatch):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    monkeypatch.setattr(row_sources, "BLOCK", X.shape[1] * 50)
    return X, y


#: Name -> (estimator, labels or what stands for them).
FITS = {
    "kta": (KTA(lam=1e-4), {"y": True}),
    "kta-products": (KTA(lam=1e-4, gram=False, rank=3), {"y": True}),
    "linearity": (Linearity(), {"pairs": PAIRS}),
    "distances": (DistanceRegression(random_state=0), {"y": True}),
    "distances-pairs": (DistanceRegression(rank=2), {"pairs": PAIRS}),
    "psdboost": (PSDBoost(nu=0.5), {"triplets": TRIPLETS}),
    "regression": (PSDRegressor(random_state=0), {"y": True}),
    "linearity-y": (Linearity(), {"y": True}),
    "psdboost-y": (PSDBoost(nu=0.5, solver_options={"tol": 1e-6}), {"y": True}),
    "lmnn": (LMNN(solver_options={"tol": 1e-8}), {"y": True}),
    "lmnn-rank": (LMNN(target_metric="euclidean", rank=2, solver_options={"tol": 1e-8}), {"y": True}),
    "lmnn-triplets": (LMNN(solver_options={"tol": 1e-8}), {"triplets": MANY}),
}


@pytest.mark.parametrize("name", FITS)
def test_the_answer_is_that_of_the_array(name, wine):
    (X, y), (estimator, arguments) = wine, FITS[name]
    arguments = {key: y if key == "y" else value for key, value in arguments.items()}
    blocks, array = (clone(estimator).fit(rows, **arguments) for rows in (OnDisk(X), X))
    assert blocks.result_.status is array.result_.status
    scale = np.linalg.norm(array.components_) ** 2
    if "n_constraints" not in estimator.get_params() or "pairs" in arguments:
        assert blocks.result_.value == pytest.approx(array.result_.value, rel=1e-4)
    assert blocks.n_features_in_ == X.shape[1]
    answer = blocks.transform if hasattr(array, "transform") else blocks.predict
    assert np.allclose(answer(OnDisk(X)), answer(X), atol=1e-9 * scale)


@pytest.mark.parametrize(
    "estimator",
    [PairwiseKernel(), QuadraticKernel(), DistanceKernel(), SSTRESS(), MaximumVarianceUnfolding()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_those_that_need_all_rows_say_so(estimator, wine):
    X, y = wine
    with pytest.raises(InvalidTypeError, match=r"X is a OnDisk that is read in blocks of rows, but \w+ needs all rows"):
        estimator.fit(OnDisk(X), y)


def test_labels_of_another_length_other_features_and_nan_in_a_late_block_are_named(wine):
    X, y = wine
    with pytest.raises(ValueError, match="12 features"):
        KTA(rank=2).fit(OnDisk(X), y).transform(OnDisk(X[:, 1:]))
    with pytest.raises(InvalidInputError, match=r"y must have shape \(178,\), one per row of X; found \(177,\)"):
        KTA().fit(OnDisk(X), y[1:])
    X[170, 3] = np.nan
    with pytest.raises(InvalidInputError, match="X must be finite; found 1 NaN"):
        KTA().fit(OnDisk(X), y)
    with pytest.raises(InvalidInputError, match="y must be finite; found 1 NaN"):
        PSDRegressor().fit(OnDisk(X), np.where(np.arange(178) == 100, np.nan, y))


def test_dask_arrays_are_summed_where_dask_computes(wine):
    da = pytest.importorskip("dask.array")
    X, y = wine
    chunked = KTA(lam=1e-4).fit(da.from_array(X, chunks=(40, 13)), da.from_array(y, chunks=40))
    assert chunked.result_.value == pytest.approx(KTA(lam=1e-4).fit(X, y).result_.value, rel=1e-6)


def test_a_pass_over_a_large_file_stays_within_its_blocks(tmp_path):
    rng = np.random.default_rng(0)
    m, d = 200_000, 50  # 40 MB as float32, 80 MB as float64
    path = tmp_path / "x.npy"
    X = np.lib.format.open_memmap(path, "w+", np.float32, (m, d))
    y = rng.integers(3, size=m)
    for start in range(0, m, 20_000):
        X[start : start + 20_000] = rng.standard_normal((20_000, d)) + y[start : start + 20_000, None]
    X.flush()
    data = np.load(path, mmap_mode="r")
    tracemalloc.start()
    model = KTA(lam=1e-12, rank=2).fit(data, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.components_.shape[1] == d
    assert peak < 60e6  # two blocks of 8 MB and a few numbers per row, against 80 MB for the rows


#: What is special -> (d, r, numbers a row beside three images, blocks of a file in memory).
REGRESSIONS = {
    "array": (50, 4, 9, 0),
    "map": (50, 4, 9, 2),
    "few columns": (5, 5, 9, 0),
    "noise": (30, 6, 9, 0),
    "all ranks": (20, 20, 9, 0),
    "weights": (50, 4, 12, 0),
    "intercept": (50, 4, 16, 0),
    "bounds": (50, 4, 12, 0),
    "bounds in a map": (60, 4, 12, 2),
}


@pytest.mark.parametrize("kind", REGRESSIONS)
def test_a_regression_holds_three_images_and_no_copy_of_its_rows(tmp_path, kind):
    """Whatever its certificate needs: the gap of noise is proven by curvature, with five matrices of order d (d + 1)/2,
    and that of bounds by gradients near M."""
    (d, r, numbers, blocks), rng, m = REGRESSIONS[kind], np.random.default_rng(0), 150_000
    X = rng.standard_normal((m, d))
    y = np.square(X @ rng.standard_normal((d, r))).sum(axis=1)
    noisy = kind in ("noise", "all ranks", "bounds", "bounds in a map")
    y += rng.standard_normal(m) if noisy else -5.0 if kind == "intercept" else 0.0
    given = {"sample_weight": rng.uniform(0.1, 2.0, m)} if kind == "weights" else {}
    if "bounds" in kind:
        given["direction"] = rng.choice([-1.0, 0.0, 1.0], m)
    if blocks:
        np.save(tmp_path / "x.npy", X)
        X = np.load(tmp_path / "x.npy", mmap_mode="r")
    model = PSDRegressor(rank=r, fit_intercept=kind == "intercept", solver_options={"max_iterations": 40})
    tracemalloc.start()
    model.fit(X, y, **given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.result_.certificate is not None
    order = d * (d + 1) // 2 if noisy and d < 50 else 0
    assert peak < 8 * (blocks * BLOCK + (3 * r + numbers) * m + 5 * order**2) + 2e6


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("estimator", [LMNN, PSDBoost, Linearity, PSDRegressor])
def test_entries_whose_squares_overflow_are_named(estimator, make):
    X = np.random.default_rng(0).standard_normal((20, 4))
    with pytest.raises(InvalidInputError, match=r"X must have entries of at most 7\.5e\+152, .* found 2"):
        estimator().fit(make(X * 1e160), np.arange(20) % 2)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_targets_whose_squares_overflow_are_named(method):
    X = np.random.default_rng(0).standard_normal((20, 4))
    with pytest.raises(InvalidInputError, match=r"y must have entries of at most 7\.5e\+152, .* found 1\.9e\+161"):
        getattr(PSDRegressor(), method)(X, 1e160 * np.arange(20.0))


def test_rows_in_memory_go_through_scikit_learn_and_are_refused_where_squares_overflow_only(wine):
    X, y = wine
    rows, labels = validated(KTA(), X.tolist(), y)
    assert isinstance(rows, np.ndarray)
    assert labels is not None
    assert validated(KTA(), 1e100 * X).max() > 1e100
    for large, dtype in ((1e200 * X, np.float64), (np.float32(1e30) * X.astype(np.float32), [np.float64, np.float32])):
        with pytest.raises(InvalidInputError, match="Scale the data"):
            validated(KTA(), large, dtype=dtype)


def test_a_column_of_text_and_targets_of_text_are_named(wine):
    X, y = wine
    table = pd.DataFrame(X[:, :3], columns=["ash", "hue", "proline"])
    table.insert(1, "region", ["north", "south"] * (len(X) // 2))
    with pytest.raises(InvalidInputError, match="'north' in column 'region'"):
        KTA().fit(table, y)
    table["region"] = table["region"].astype("category")
    with pytest.raises(InvalidInputError, match="'north' in column 'region'"):
        LMNN().fit(table, y)
    table["region"] = pd.Timestamp("2020-01-01")
    with pytest.raises(InvalidInputError, match=r"found 'datetime64\[.*\]' in column 'region'"):
        KTA().fit(table, y)
    table.columns = ["ash", "hue", "hue", "proline"]
    with pytest.raises(InvalidInputError, match="X must have columns of different names; found 'hue' twice"):
        KTA().fit(table, y)
    with pytest.raises(InvalidInputError, match="y must hold numbers; found text: 'b'"):
        PSDRegressor().fit(X, ["b", "a"] * (len(X) // 2))
    with pytest.raises(ValueError, match="NaN"):
        KTA().fit(table[["ash"]].assign(hue=np.nan), y)


@pytest.mark.parametrize("estimator", [KTA, LMNN, PairwiseKernel])
@pytest.mark.parametrize(
    ("two", "found"), [((1, "a"), "1 and 'a'"), (("a", None), "'a' and None"), ((2, np.nan), "2 and nan")]
)
def test_labels_of_several_kinds_are_named(estimator, two, found, wine):
    X, _ = wine
    y = np.array(two * (len(X) // 2), dtype=object)
    with pytest.raises(InvalidInputError, match=f"^y must hold labels, all text or all numbers; found {found}$"):
        estimator().fit(X, y)
