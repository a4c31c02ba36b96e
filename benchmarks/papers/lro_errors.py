"""Tables 2 and 4 of Yuan et al.: errors of three nearest neighbours under learned metrics, small sets and large."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.data import Array, load, needs, training_part
from benchmarks.reproduction.experiments import Comparison, Experiment, ExperimentCase, Findings, ResultTable
from psdopt_plugins.metric_learning import KTA, Linearity

#: Table 2: errors (%) of LRO-KTA and LRO-L with their deviations.
PAPER_2 = {
    "soybean_small": ((0.0, 0.0), (5.4, 5.2)),
    "iris": ((2.7, 1.5), (4.3, 2.1)),
    "wine": ((1.5, 1.0), (2.8, 1.6)),
    "sonar": ((22.4, 2.5), (23.9, 3.8)),
    "glass": ((30.6, 2.4), (31.0, 3.3)),
    "ionosphere": ((14.1, 3.1), (15.5, 1.5)),
    "pima": ((26.5, 1.7), (27.6, 1.6)),
    "segment": ((3.7, 0.6), (11.4, 0.7)),
    "optdigits": ((2.9, 0.3), (2.5, 0.3)),
    "waveform": ((16.6, 0.6), (16.0, 0.6)),
}
#: Sets of which one split takes a minute or more.
SLOW_2 = ("sonar", "segment", "optdigits", "waveform")
#: Table 4: rank, error (%) and seconds of LRO-KTA.
PAPER_4 = {"w1a": (20, 2.4, 6.0), "isolet": (20, 5.8, 289.0), "letters": (16, 4.0, 34.0), "news20": (20, 14.8, 587.0)}
LAMS = tuple(10.0**k for k in range(-4, 4))
MODELS = ("KTA", "linearity")


def errors_of_small_sets() -> Experiment:
    """Table 2."""
    return Experiment(_cases_2, _measure_2, _present_2)


def errors_of_large_sets() -> Experiment:
    """Table 4."""
    return Experiment(_cases_4, _measure_4, _present_4)


def paper_rank(n: int) -> int:
    """min(n, min(60, max(40, √n))) (section 5.2)."""
    return min(n, min(60, max(40, math.isqrt(n))))


def _cases_2(quick: bool) -> list[ExperimentCase]:
    names = ("iris", "wine") if quick else tuple(PAPER_2)
    splits = {name: 1 if quick else 2 if name in SLOW_2 else 10 for name in names}
    return [ExperimentCase(name, {"splits": splits[name]}, needs(name)) for name in names]


def _measure_2(case: ExperimentCase) -> dict[str, Any]:
    X, y, _ = load(case.name)
    X = X.astype(float)
    errors: dict[str, list[float]] = {"Euclidean": [], **{kind: [] for kind in MODELS}}
    for seed in range(case.settings["splits"]):
        a, b = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
        scaler = StandardScaler().fit(X[a])
        A, B = scaler.transform(X[a]), scaler.transform(X[b])
        errors["Euclidean"].append(_knn_error(A, y[a], B, y[b]))
        for kind in MODELS:
            lam = _cross_validated(kind, A, y[a], seed)
            errors[kind].append(_learned_error(kind, lam, A, y[a], B, y[b]))
    return {
        "splits": case.settings["splits"],
        **{kind: [float(np.mean(found)), float(np.std(found))] for kind, found in errors.items()},
    }


def _present_2(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows, comparisons = [], []
    for name, found in measured.items():
        cells = {kind: f"{found[kind][0]:.1f} ± {found[kind][1]:.1f}" for kind in ("Euclidean", *MODELS)}
        paper = [f"{error:.1f} ± {spread:.1f}" for error, spread in PAPER_2[name]]
        rows.append(
            (f"{name} ({found['splits']})", cells["Euclidean"], cells["KTA"], paper[0], cells["linearity"], paper[1])
        )
        for kind, (error, spread) in zip(MODELS, PAPER_2[name], strict=True):
            comparisons.append(
                Comparison(f"{kind} on {name}", found[kind][0], error, level=max(spread, found[kind][1]), unit="%")
            )
    columns = ("set (splits)", "Euclidean", "KTA", "KTA, paper", "linearity", "linearity, paper")
    return Findings((ResultTable("3-NN test error, %", columns, tuple(rows)),), tuple(comparisons))


def _cross_validated(kind: str, X: Array, y: Array, seed: int) -> float:
    """lam of least fivefold error; ties go to the smaller lam."""
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y))
    errors = [np.mean([_learned_error(kind, lam, X[a], y[a], X[b], y[b]) for a, b in folds]) for lam in LAMS]
    return LAMS[int(np.argmin(errors))]


def _learned_error(kind: str, lam: float, X: Array, y: Array, test: Array, y_test: Array) -> float:
    """3-NN error after learning at the paper's rank, which is no limit where it is the order."""
    rank = paper_rank(X.shape[1])
    options = None if rank == X.shape[1] else {"tol": 1e-5, "max_iterations": 300}
    model = KTA if kind == "KTA" else Linearity
    learner = model(rank=None if rank == X.shape[1] else rank, lam=lam, solver_options=options).fit(X, y)
    return _knn_error(learner.transform(X), y, learner.transform(test), y_test)


def _knn_error(train: Any, y_train: Array, test: Any, y_test: Array, metric: str = "minkowski") -> float:
    """3-NN error in percent."""
    knn = KNeighborsClassifier(3, metric=metric, algorithm="brute" if metric == "cosine" else "auto")
    return 100.0 * (1.0 - float(knn.fit(train, y_train).score(test, y_test)))


def _cases_4(quick: bool) -> list[ExperimentCase]:
    if quick:
        return [ExperimentCase("digits", {"rank": 16, "lams": [1e-2]})]
    cases = []
    for name, (rank, *_) in PAPER_4.items():
        lams = [1e-3, 1e-1, 1e1] if name == "news20" else list(LAMS)  # eight would be hours there
        files = (name, "w8a") if name == "w1a" else (name,)
        cases.append(ExperimentCase(name, {"rank": rank, "lams": lams}, files))
    return cases


def _measure_4(case: ExperimentCase) -> dict[str, Any]:
    A, ya, B, yb = _large(case.name)
    metric = "cosine" if case.name == "news20" else "minkowski"
    held = np.random.default_rng(0).permutation(len(ya))[: len(ya) // 5]
    kept, everything = np.setdiff1d(np.arange(len(ya)), held), np.arange(len(ya))

    def fit(rows: Array, lam: float) -> tuple[Any, float]:
        options = {"tol": 1e-4, "max_iterations": 200, "max_time": 120.0}
        begin = time.process_time()
        learner = KTA(rank=case.settings["rank"], lam=lam, solver_options=options).fit(A[rows], ya[rows])
        return learner, time.process_time() - begin

    def error(learner: Any, rows: Array, test: Any, y_test: Array) -> float:
        return _knn_error(learner.transform(A[rows]), ya[rows], learner.transform(test), y_test, metric)

    lams = case.settings["lams"]
    validation = [error(fit(kept, lam)[0], kept, A[held], ya[held]) for lam in lams] if len(lams) > 1 else [0.0]
    lam = lams[int(np.argmin(validation))]
    learner, seconds = fit(everything, lam)
    return {
        "rank": case.settings["rank"],
        "lam": lam,
        "seconds": seconds,
        "error": error(learner, everything, B, yb),
        "status": learner.result_.status.label,
        "iterations": learner.result_.iterations,
    }


def _large(name: str) -> tuple[Any, Array, Any, Array]:
    """Training and test part, preprocessed alike (w1a: its published complement in w8a; digits: the last 500)."""
    X, y, extra = load(name)
    if name == "digits":
        scaler = StandardScaler().fit(X[:-500])
        return scaler.transform(X[:-500]), y[:-500], scaler.transform(X[-500:]), y[-500:]
    A, ya = training_part(name)
    if name == "w1a":
        X, y, _ = load("w8a")
        rows = np.setdiff1d(np.arange(X.shape[0]), extra["w8a_rows"])
        return A, ya, X[rows], y[rows]
    if name == "letters":
        rows, trained = np.arange(15_000, 20_000), np.arange(15_000)
    else:
        rows, trained = extra["test_idx"], extra["train_idx"]
    if "idf" in extra:
        X = sp.csr_array(X @ sp.diags_array(extra["idf"]))
        norms = np.sqrt(X.multiply(X).sum(axis=1))
        return A, ya, sp.csr_array(sp.diags_array(1.0 / np.where(norms > 0, norms, 1.0)) @ X)[rows], y[rows]
    scaler = StandardScaler().fit(X[trained])
    return A, ya, scaler.transform(X[rows]), y[rows]


def _present_4(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows, comparisons = [], []
    for name, found in measured.items():
        _, error, seconds = PAPER_4.get(name, (0, None, None))
        rows.append(
            (
                name,
                str(found["rank"]),
                f"{found['lam']:g}",
                f"{found['error']:.2f}",
                "" if error is None else f"{error}",
                f"{found['seconds']:.2f}",
                "" if seconds is None else f"{seconds:g}",
                f"{found['status']} ({found['iterations']})",
            )
        )
        if error is not None and seconds is not None:
            comparisons.append(Comparison(f"error on {name}", found["error"], error, unit="%"))
            comparisons.append(Comparison(f"seconds on {name}", found["seconds"], seconds, unit="s"))
    columns = ("set", "rank", "λ", "error %", "paper", "seconds", "paper", "end (steps)")
    return Findings(
        (ResultTable("Errors and processor seconds of the final fit", columns, tuple(rows)),), tuple(comparisons)
    )
