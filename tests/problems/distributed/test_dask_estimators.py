"""Estimators on Dask arrays while a client is open: the answers of arrays in memory."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from psdopt import FlatQuotient, QuadraticSDP, solve
from psdopt.linalg import linear_map
from psdopt.problems.distributed import OnDask
from psdopt_plugins.metric_learning import KTA, LMNN, DistanceRegression, Linearity, PSDBoost, lmnn_problem, lmnn_rounds
from psdopt_plugins.regression import PSDRegressor

pytest.importorskip("dask.distributed")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore")

#: Steps that show the same path; on a cluster of two processes each takes some milliseconds of waiting.
FEW = {"max_iterations": 5}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def agree(chunked, whole):
    assert chunked.status is whole.status
    assert chunked.value == pytest.approx(whole.value, rel=1e-4, abs=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [
        KTA(lam=1e-4), Linearity(), DistanceRegression(random_state=0, bounds=(10.0, 60.0)),
        PSDRegressor(random_state=0, solver_options=FEW), PSDBoost(nu=0.5, solver_options={"tol": 1e-6}),
    ],
    ids=lambda each: type(each).__name__,
)  # fmt: skip
@pytest.mark.usefixtures("client")
def test_fit_takes_a_dask_array_and_the_open_client(estimator, wine):
    X, y = wine
    chunked = clone(estimator).fit(da.from_array(X, chunks=(60, 13)), da.from_array(y, chunks=60))
    agree(chunked.result_, clone(estimator).fit(X, y).result_)


def held_parts():
    from psdopt.problems.distributed import dask

    return len(dask._residents)


def test_large_margins_are_summed_on_the_workers(client, wine, monkeypatch):
    X, y = wine
    asked = []

    class Watched(OnDask):
        def place(self, parts):
            asked.append([sorted(len(array) for array in recipe[2:4]) for recipe in parts])
            super().place(parts)

    monkeypatch.setattr(lmnn_rounds, "OnDask", Watched)
    before = client.run(held_parts)
    fewer = LMNN(max_rounds=1, solver_options=FEW | {"tol": 0.05})  # at 0.1 the end need not be a proof
    agree(fewer.fit(da.from_array(X, chunks=(60, 13)), da.from_array(y, chunks=60)).result_, fewer.fit(X, y).result_)
    assert len(asked) > 1
    assert all(len(sizes) == 2 for sizes in asked)  # two workers, two parts in every round
    assert client.run(held_parts) == before  # no part is left behind


def test_parts_of_a_round_are_the_round(client, wine):
    X, _ = wine
    rng = np.random.default_rng(0)
    triplets = np.array([rng.permutation(178)[:3] for _ in range(60)])
    targets, weights = np.unique(triplets[:, :2], axis=0), rng.uniform(0.5, 2.0, 178)
    whole = lmnn_problem(X, targets, triplets, 0.7, weights)
    data = linear_map(da.from_array(X, chunks=(60, 13)))
    Y, D = rng.standard_normal((2, 13, 3))
    with lmnn_rounds.round_problem(data, targets, triplets, 0.7, weights) as parts:
        mine, theirs = parts.at(Y), whole.at(Y)
        assert mine.value == pytest.approx(theirs.value, rel=1e-12)
        assert np.allclose(mine.factor_gradient(), theirs.factor_gradient(), rtol=1e-10)
        assert np.allclose(mine.hessian_vector(D), theirs.hessian_vector(D), rtol=1e-10)
        assert np.allclose(mine.preconditioner()(D), theirs.preconditioner()(D), rtol=1e-10)


@pytest.mark.parametrize("backend", ["dask", "threading"])
@pytest.mark.usefixtures("client")
def test_cross_validation_and_several_starts_run_on_joblib_backends(backend, wine):
    X, y = wine
    model = make_pipeline(KTA(rank=2, lam=1e-4), KNeighborsClassifier(3))
    K = np.random.default_rng(0).standard_normal((12, 12))
    problem = QuadraticSDP(B=1.0, C=-(K + K.T) / 2.0)

    def runs(parallel):
        tasks = [joblib.delayed(solve)(problem, FlatQuotient(12, 2), rng=np.random.default_rng(s)) for s in range(3)]
        return [run.value for run in parallel(tasks)]

    straight = cross_val_score(model, X, y, cv=3)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert np.array_equal(cross_val_score(model, X, y, cv=3), straight)
        assert runs(joblib.Parallel()) == runs(joblib.Parallel(n_jobs=1, backend="sequential"))


def test_no_client_is_no_engine():
    assert OnDask.current() is None
