"""LMNN on features as they are and standardised, and beside neighbourhood components analysis."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.data import dense, load, needs
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt_plugins.metric_learning import LMNN

OWN: dict[str, Callable[..., Any]] = {"wine": load_wine, "breast cancer": load_breast_cancer}
LEARNERS: dict[str, tuple[float, Callable[[], Any]]] = {
    "LMNN": (1.0, LMNN),
    "NCA, features 0 to 16": (1.0, lambda: NeighborhoodComponentsAnalysis(random_state=0)),
    "NCA, features 0 to 1": (1 / 16, lambda: NeighborhoodComponentsAnalysis(random_state=0)),
}


def raw_and_standardised() -> Experiment:
    """Ten splits 70/30, three neighbours."""

    def cases(quick: bool) -> list[ExperimentCase]:
        own = [ExperimentCase(name, {"splits": 2 if quick else 10}) for name in OWN]
        return own[:1] if quick else [*own, ExperimentCase("segment", {"splits": 10}, needs("segment"))]

    return Experiment(cases, _units, _present_units)


def lmnn_beside_nca() -> Experiment:
    """Digits, 20 splits 70/30, three neighbours."""
    return Experiment(
        lambda quick: [ExperimentCase("digits", {"splits": 1 if quick else 20})], _beside_nca, _present_nca
    )


def _splits(X: Any, y: Any, count: int) -> list[Any]:
    return [train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y) for seed in range(count)]


def _error(train: Any, a: Any, test: Any, b: Any) -> float:
    return 1.0 - float(KNeighborsClassifier(3).fit(train, a).score(test, b))


def _units(case: ExperimentCase) -> dict[str, Any]:
    if case.name in OWN:
        X, y = OWN[case.name](return_X_y=True)
    else:
        X, y, _ = load(case.name)
    found: dict[str, list[float]] = {}
    for A, B, a, b in _splits(dense(X), y, case.settings["splits"]):
        scaler = StandardScaler().fit(A)
        for kind, train, test in (("raw", A, B), ("standardised", scaler.transform(A), scaler.transform(B))):
            begin = time.process_time()
            model = LMNN().fit(train, a)
            found.setdefault(f"seconds {kind}", []).append(time.process_time() - begin)
            found.setdefault(f"Euclidean {kind}", []).append(_error(train, a, test, b))
            found.setdefault(f"LMNN {kind}", []).append(_error(model.transform(train), a, model.transform(test), b))
    return {what: [float(np.mean(values)), float(np.std(values))] for what, values in found.items()}


def _present_units(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    kinds = ("raw", "standardised")
    rows = []
    for name, found in measured.items():
        cells = [f"{found[f'Euclidean {kind}'][0]:.3f}" for kind in kinds]
        cells += [f"{found[f'LMNN {kind}'][0]:.3f}, {found[f'seconds {kind}'][0]:.2f} s" for kind in kinds]
        rows.append((name, *cells))
    columns = ("data", "Euclidean", "Euclidean, standardised", "LMNN", "LMNN, standardised")
    return Findings((ResultTable("Mean 3-NN test error and processor seconds per fit", columns, tuple(rows)),))


def _beside_nca(case: ExperimentCase) -> dict[str, Any]:
    found: dict[str, dict[str, list[float]]] = {name: {"accuracy": [], "seconds": []} for name in LEARNERS}
    X, y = load_digits(return_X_y=True)
    for A, B, a, b in _splits(X, y, case.settings["splits"]):
        for name, (unit, make) in LEARNERS.items():
            model, begin = make(), time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(unit * A, a)
            found[name]["seconds"].append(time.process_time() - begin)
            accuracy = 1.0 - _error(model.transform(unit * A), a, model.transform(unit * B), b)
            found[name]["accuracy"].append(accuracy)
    return found


def _present_nca(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = []
    for found in measured.values():
        for name, each in found.items():
            less = np.subtract(found["LMNN"]["accuracy"], each["accuracy"])
            error = f" ± {less.std(ddof=1) / np.sqrt(len(less)):.4f}" if len(less) > 1 else ""
            above = "" if name == "LMNN" else f"{less.mean():.4f}{error}"
            rows.append((name, f"{np.mean(each['accuracy']):.4f}", above, f"{np.median(each['seconds']):.2f}"))
    columns = ("learner", "mean 3-NN accuracy", "LMNN's is above by", "median processor seconds")
    return Findings((ResultTable("Digits", columns, tuple(rows)),))
