"""Metric learners at their defaults on twelve sets: 3-NN error and processor seconds of a fit.

Five stratified splits 70/30 of at most 1,500 rows, features standardised by the training part, constant ones left out.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from benchmarks.papers.data import dense, load, needs
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt_plugins.metric_learning import KTA, LMNN, NCA, DistanceRegression, Linearity, PSDBoost

SETS = ("iris", "wine", "sonar", "glass", "ionosphere", "pima", "balance_scale", "segment", "waveform", "optdigits",
        "letters", "dna")  # fmt: skip
ROWS, SPLITS, SEED = 1500, 5, 100
OURS: dict[str, Callable[[], Any]] = {
    "KTA": KTA,
    "LMNN": LMNN,
    "NCA": NCA,
    "Linearity": Linearity,
    "DistanceRegression": DistanceRegression,
    "PSDBoost": PSDBoost,
}
PEERS: dict[str, Callable[[], Any]] = {
    "LDA": LinearDiscriminantAnalysis,
    "scikit-learn's NCA": lambda: NeighborhoodComponentsAnalysis(random_state=0),
}


def learners() -> Experiment:
    """Every learner of a Mahalanobis metric from labels, at its defaults."""
    return Experiment(_cases, _measure, _present)


def _cases(quick: bool) -> list[ExperimentCase]:
    settings = {"rows": 300 if quick else ROWS, "splits": 1 if quick else SPLITS}
    return [ExperimentCase(name, settings, needs(name)) for name in (SETS[:2] if quick else SETS)]


def _peers() -> dict[str, Callable[[], Any]]:
    """PEERS, and where it is installed metric-learn's LMNN; its ITML takes minutes on optdigits."""
    if importlib.util.find_spec("metric_learn") is None:
        return PEERS
    metric_learn: Any = importlib.import_module("metric_learn")
    return {**PEERS, "metric-learn's LMNN": metric_learn.LMNN}


def _measure(case: ExperimentCase) -> dict[str, Any]:
    X, y, _ = load(case.name)
    X = dense(X)
    if len(X) > case.settings["rows"]:
        kept = next(StratifiedShuffleSplit(1, train_size=case.settings["rows"], random_state=0).split(X, y))[0]
        X, y = X[kept], y[kept]
    errors: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    splits = StratifiedShuffleSplit(case.settings["splits"], test_size=0.3, random_state=SEED)
    for train, test in splits.split(X, y):
        spread = X[train].std(axis=0)
        used = spread > 0.0
        A, B = ((X[part][:, used] - X[train][:, used].mean(axis=0)) / spread[used] for part in (train, test))
        for name, make in {"Euclidean": None, **_peers(), **OURS}.items():
            begun, found = time.process_time(), (A, B)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if make is not None:
                    model = make().fit(A, y[train])
                    found = model.transform(A), model.transform(B)
            seconds.setdefault(name, []).append(time.process_time() - begun)
            voters = KNeighborsClassifier(3).fit(found[0], y[train])
            errors.setdefault(name, []).append(100.0 * float(np.mean(voters.predict(found[1]) != y[test])))
    named = {name: {"error": float(np.mean(errors[name])), "seconds": float(np.mean(seconds[name]))} for name in errors}
    return {"rows": len(X), "features": int(X.shape[1]), "learners": named}


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    if not measured:
        return Findings((ResultTable("3-NN error, %", ("set", "rows", "features"), ()),))
    names = list(next(iter(measured.values()))["learners"])
    errors = {name: [found["learners"][name]["error"] for found in measured.values()] for name in names}
    rows = [
        (set_name, f"{found['rows']}", f"{found['features']}", *(f"{errors[name][k]:.1f}" for name in names))
        for k, (set_name, found) in enumerate(measured.items())
    ]
    means = {name: float(np.mean(errors[name])) for name in names}
    rows.append(("mean", "", "", *(f"{means[name]:.1f}" for name in names)))
    worse = {name: sum(a > b + 0.05 for a, b in zip(errors[name], errors["Euclidean"], strict=True)) for name in names}
    rows.append(("worse than Euclidean on", "", "", *(f"{worse[name]}" for name in names)))
    facts = {name.lower().replace("scikit-learn's ", "peer-"): f"{mean:.1f}" for name, mean in means.items()}
    tables = [ResultTable("3-NN error, %", ("set", "rows", "features", *names), tuple(rows))]
    large = {name: found["learners"] for name, found in measured.items() if found["rows"] >= 1000}
    if large:
        taken = [(name, *(f"{found[name]['seconds']:.2f}" for found in large.values())) for name in names[1:]]
        caption = "Processor seconds of a fit, sets of 1,000 rows and more"
        tables.append(ResultTable(caption, ("learner", *large), tuple(taken)))
        ratios = [found["scikit-learn's NCA"]["seconds"] / found["NCA"]["seconds"] for found in large.values()]
        facts |= {"faster-least": f"{min(ratios):.1f}", "faster-most": f"{max(ratios):.1f}"}
    return Findings(tuple(tables), facts=facts)
