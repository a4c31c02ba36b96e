"""metric-learn 0.7.0 beside this library: the same samples, pairs and triplets, held-out errors, processor seconds.

    python benchmarks/metric_learn.py [iris wine breast_cancer]

metric-learn runs in the pinned environment of benchmarks/pinned_peers.py, with its default settings; learners of this
library run in this environment. Samples are standardised; every second one is learned from, the others are classified
by their 3 nearest neighbours under the metric, and pairs of them are told apart by the learned distance (area under
the curve). One BLAS thread each; the seconds are those of fit.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pinned_peers import learn_all  # noqa: E402
from psdopt_plugins.metric_learning import LMNN, DistanceRegression, PSDBoost  # noqa: E402
from psdopt_plugins.pair_sampling import nearest_triplets, random_pairs  # noqa: E402

PAIRS = 400


def labelled_pairs(y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """PAIRS pairs (p, 2), half of them of one class, and their signs."""
    codes = np.unique(y, return_inverse=True)[1]
    parts = [random_pairs(len(y), PAIRS // 2, rng, codes, same=same) for same in (True, False)]
    return np.concatenate(parts), np.repeat([1, -1], [len(part) for part in parts])


def timed(learner: Any, X: np.ndarray, **data: Any) -> tuple[np.ndarray, float]:
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        components = learner.fit(X, **data).components_
    return components, time.process_time() - begin


def race(name: str) -> list[tuple[str, float, float, float]]:
    """(learner, 3-NN error, area under the curve, processor seconds) on one data set of scikit-learn."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    train, rng = X[::2], np.random.default_rng(0)
    pairs, signs = labelled_pairs(y[::2], rng)
    triplets = nearest_triplets(train, y[::2], 3)
    held, held_signs = labelled_pairs(y[1::2], rng)
    common = {"X": train, "y": y[::2]}
    peers = learn_all(
        [
            {**common, "method": "lmnn"},
            {**common, "method": "itml", "pairs": pairs, "signs": signs},
            {**common, "method": "scml", "triplets": triplets, "random_state": 0},
        ]
    )
    named = dict(zip(("LMNN", "ITML", "SCML"), peers, strict=True))
    found = [(f"metric-learn {key}", peer.components, peer.cpu_seconds) for key, peer in named.items()]
    signed = np.column_stack([pairs, signs])
    found += [
        ("psdopt LMNN", *timed(LMNN(), train, y=y[::2])),
        ("psdopt DistanceRegression", *timed(DistanceRegression(), train, pairs=signed)),
        ("psdopt PSDBoost", *timed(PSDBoost(), train, triplets=triplets)),
        ("Euclidean", np.eye(X.shape[1]), 0.0),
    ]
    rows = []
    for label, components, seconds in found:
        Z = X @ components.T
        error = 1.0 - KNeighborsClassifier(3).fit(Z[::2], y[::2]).score(Z[1::2], y[1::2])
        distances = np.linalg.norm(Z[1::2][held[:, 0]] - Z[1::2][held[:, 1]], axis=1)
        rows.append((label, error, float(roc_auc_score(held_signs, -distances)), seconds))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    for name in (sys.argv[1:] if argv is None else argv) or ["iris", "wine", "breast_cancer"]:
        print(f"{name}: learner, 3-NN error, area under the curve of held-out pairs, processor seconds")
        for label, error, area, seconds in race(name):
            print(f"  {label:26s} {100 * error:5.1f} %  {area:.3f}  {seconds:6.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
