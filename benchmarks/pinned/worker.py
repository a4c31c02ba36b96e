"""Runs in the pinned environment: reads tasks from .npz files, learns, writes components and CPU seconds to others.

    python worker.py task.npz answer.npz [task2.npz answer2.npz ...]

A task holds `method` (itml, lmnn, scml, pylmnn, or psdopt and psdopt-kta for our LMNN and KTA, in an environment that
has them), X (m, d), y (m,), a JSON string `options` of keyword arguments for the learner and, for itml, optionally
`pairs` (k, 2), `signs` (k,) of +1 (similar) and -1 (dissimilar), `bounds` (2,), for scml `triplets` (q, 3). The seconds
are those of fit; imports are not counted. Megabytes are the largest resident size, before fit and after it (Linux).
"""

import json
import sys
import time
import types
import warnings

import numpy as np


def itml(X, y, options, task):
    from metric_learn import ITML, ITML_Supervised

    if "pairs" not in task:
        return lambda: ITML_Supervised(**options).fit(X, y)
    bounds = task.get("bounds")
    return lambda: ITML(**options).fit(X[task["pairs"]], task["signs"], bounds=bounds)


def lmnn(X, y, options, task):
    from metric_learn import LMNN

    return lambda: LMNN(**options).fit(X, y)


def scml(X, y, options, task):
    from metric_learn import SCML

    return lambda: SCML(**options).fit(X[task["triplets"]])


def pylmnn(X, y, options, task):
    # its hyperparameter search, which is not used here, wants a package that no longer builds
    absent = types.ModuleType("GPyOpt.methods")
    absent.BayesianOptimization = None
    sys.modules["GPyOpt"] = sys.modules["GPyOpt.methods"] = absent
    from pylmnn import LargeMarginNearestNeighbor

    return lambda: LargeMarginNearestNeighbor(**options).fit(X, y)


def without_pandas():
    """An extra of our tests; scikit-learn loads it where it finds it, and the peers' environment has none."""
    sys.modules["pandas"] = None
    import sklearn.neighbors  # noqa: F401

    del sys.modules["pandas"]


def psdopt(X, y, options, task):
    without_pandas()
    from psdopt_plugins.metric_learning.lmnn import LMNN

    return lambda: LMNN(**options).fit(X, y)


def kta(X, y, options, task):
    without_pandas()
    from psdopt import BILGO, PSDCone
    from psdopt_plugins.metric_learning.kta import KTA

    pieces = {"geometry": PSDCone(X.shape[1]), "method": BILGO()}
    return lambda: KTA(solver_options=pieces, **options).fit(X, y)


def solve(question, answer):
    with np.load(question) as task:
        task = dict(task)
    learner = {"itml": itml, "lmnn": lmnn, "scml": scml, "pylmnn": pylmnn, "psdopt": psdopt, "psdopt-kta": kta}[
        str(task["method"])
    ]
    fit = learner(task["X"], task["y"], json.loads(str(task["options"])), task)
    before, begin = peak_megabytes(), time.process_time()
    components = fit().components_
    seconds = time.process_time() - begin
    np.savez(answer, components=components, cpu_seconds=seconds, megabytes=(before, peak_megabytes()))


def peak_megabytes():
    """Largest resident size of this program so far: unlike getrusage's, not that of whoever started it."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def main():
    warnings.simplefilter("ignore")
    files = sys.argv[1:]
    for question, answer in zip(files[::2], files[1::2], strict=True):
        solve(question, answer)


if __name__ == "__main__":
    main()
