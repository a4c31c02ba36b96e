"""PSDBoost: figure 1, the pendigits experiment, the size called out of reach, and seconds beside Clarabel on the SDP.

C = 1/(0.1 m) throughout; the synthetic instances are overlapping Gaussian classes with features of different scales,
each sample with its nearest neighbours of the same and of other classes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.ndimage import zoom
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers.data import Array, load
from benchmarks.reproduction.experiments import Comparison, Experiment, ExperimentCase, Findings, ResultTable
from psdopt import ColumnGeneration, Method, Result, Spectraplex, solve
from psdopt.plugins import COLOURS, new_figure
from psdopt_plugins.metric_learning import triplet_margin_problem
from psdopt_plugins.metric_learning.matrix_generation import MatrixGeneration
from psdopt_plugins.pair_sampling import nearest_triplets

#: C = 1/(NU m).
NU = 0.1
#: samples, classes, neighbours of the synthetic instances: order D -> (N, classes, n_neighbors, m).
SYNTHETIC = {12: (150, 2, 1, 120), 24: (600, 2, 1, 550), 64: (1000, 2, 1, 960), 200: (2500, 4, 2, 5000)}
METHODS: dict[str, Method] = {
    "linear program, as printed": MatrixGeneration("none"),
    "linear program, smoothed duals": MatrixGeneration(),
    "block master, 8 columns a round": ColumnGeneration(columns=8),
}
METRICS = ("Euclidean", "column generation", "full SDP")


def rounds() -> Experiment:
    """Figure 1: value and bound of every round, as printed, stabilised, and by the block master."""
    return Experiment(_round_cases, _measure_rounds, _present_rounds)


def seconds() -> Experiment:
    """Seconds to a certified relative gap, beside Clarabel on the full SDP up to D = 64."""
    return Experiment(_speed_cases, _measure_speed, _present_speed)


def pendigits() -> Experiment:
    """Section 6: digits 1, 5, 7, 9, 80 samples of each to learn from, 500 to test 1-NN."""
    return Experiment(_digit_cases, _measure_digits, _present_digits)


def pixels() -> Experiment:
    """D = 900: images of 30 × 30 pixels, the size that the paper calls out of reach for SDP solvers."""
    return Experiment(_pixel_cases, _measure_pixels, _present_pixels)


def synthetic(D: int, seed: int = 0) -> tuple[Array, Array]:
    """(X, triplets)."""
    N, classes, k, m = SYNTHETIC[D]
    rng = np.random.default_rng(seed)
    centres, y = 0.3 * rng.standard_normal((classes, D)), rng.integers(0, classes, N)
    X = (centres[y] + rng.standard_normal((N, D))) * np.exp(0.5 * rng.standard_normal(D)) / math.sqrt(D)
    rows = nearest_triplets(X, y, k)
    return X, rows[rng.permutation(len(rows))[:m]]


def column_generation(
    X: Array, rows: Array, tol: float, rounds: int = 100, method: Method | None = None
) -> tuple[Result, float]:
    """The result, and the processor seconds it took, the making of the problem included."""
    begin = time.process_time()
    problem = triplet_margin_problem(X, rows, 1.0 / (NU * len(rows)))
    result = solve(problem, Spectraplex(X.shape[1]), method or ColumnGeneration(), tol=tol, max_iterations=rounds)
    return result, time.process_time() - begin


def full_sdp(X: Array, rows: Array, tol: float) -> tuple[float, Array, float]:
    """(optimum, M, processor seconds) of the SDP by Clarabel, called without a modelling layer."""
    clarabel: Any = import_module("clarabel")
    begin = time.process_time()
    m, D = len(rows), X.shape[1]
    C = 1.0 / (NU * m)
    j, i = np.tril_indices(D)  # columns of the upper triangle, as Clarabel orders them
    weight = np.where(i == j, 1.0, math.sqrt(2.0))
    far, near = X[rows[:, 0]] - X[rows[:, 2]], X[rows[:, 0]] - X[rows[:, 1]]
    A = (far[:, i] * far[:, j] - near[:, i] * near[:, j]) * weight
    p = len(i)
    none = sp.csr_array
    blocks: Any = [
        [sp.csr_array((i == j).astype(float)[None, :]), none((1, 1)), none((1, m))],
        [sp.csr_array(-A), sp.csr_array(np.ones((m, 1))), -sp.eye_array(m)],
        [none((m, p)), none((m, 1)), -sp.eye_array(m)],
        [-sp.eye_array(p), none((p, 1)), none((p, m))],
    ]
    constraints = sp.csc_matrix(sp.block_array(blocks))
    b = np.concatenate([[1.0], np.zeros(2 * m + p)])
    cost = np.concatenate([np.zeros(p), [-1.0], np.full(m, C)])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * m), clarabel.PSDTriangleConeT(D)]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.tol_gap_rel, settings.tol_gap_abs, settings.tol_feas = False, tol, 1e-12, tol
    quadratic = sp.csc_matrix((len(cost), len(cost)))
    solution = clarabel.DefaultSolver(quadratic, cost, constraints, b, cones, settings).solve()
    M = np.zeros((D, D))
    M[i, j] = M[j, i] = np.array(solution.x)[:p] / weight
    return -float(solution.obj_val), M, time.process_time() - begin


def _round_cases(quick: bool) -> list[ExperimentCase]:
    settings = {"D": 12, "rounds": 10} if quick else {"D": 24, "rounds": 150}
    return [ExperimentCase(name, settings) for name in METHODS]


def _measure_rounds(case: ExperimentCase) -> dict[str, Any]:
    X, rows = synthetic(case.settings["D"])
    best, _ = column_generation(X, rows, 1e-7)
    result, seconds = column_generation(X, rows, 1e-4, case.settings["rounds"], METHODS[case.name])
    records = result.history.records
    return {
        "optimum": -best.value,
        "rounds": result.iterations,
        "seconds": seconds,
        "dual": [-record["master_value"] for record in records],
        "bound": [-record["bound"] for record in records],
        "gap": [record["gap"] / abs(best.value) for record in records],
    }


def _present_rounds(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = tuple(
        (name, str(found["rounds"]), f"{found['gap'][-1]:.2g}", f"{found['seconds']:.2f}")
        for name, found in measured.items()
    )
    table = ResultTable("", ("method", "rounds", "relative gap", "processor seconds"), rows)
    return Findings((table,), figures={"rounds": lambda: _draw_rounds(measured)} if measured else {})


def _draw_rounds(measured: Mapping[str, Mapping[str, Any]]) -> Any:
    figure = new_figure(10, 4)
    left, right = figure.subplots(1, 2)
    optimum = next(iter(measured.values()))["optimum"]
    for colour, (name, found) in zip(COLOURS, measured.items(), strict=False):
        steps = np.arange(len(found["gap"]))
        dual, bound, gap = (np.array(found[key], dtype=float) for key in ("dual", "bound", "gap"))
        left.plot(steps[1:], dual[1:], color=colour, label=name)
        left.plot(steps[1:], bound[1:], color=colour, linestyle=":")
        right.semilogy(steps, np.maximum(gap, 1e-5), color=colour, label=name)
    left.axhline(optimum, color="black", linewidth=0.8, label="optimum of the SDP")
    left.set(xlabel="round", ylabel="objective", ylim=(optimum - 0.06, optimum + 0.06), xscale="log")
    left.legend(loc="lower right", fontsize=8, title="solid: master; dotted: best bound", title_fontsize=8)
    right.axhline(1e-4, color="black", linewidth=0.8)
    right.set(xlabel="round", ylabel="relative gap", xscale="log")
    return figure


def _speed_cases(quick: bool) -> list[ExperimentCase]:
    sizes = {12: True} if quick else {24: True, 64: True, 200: False}
    return [
        ExperimentCase(f"D = {D}", {"D": D, "tol": 1e-4, "full": full}, (), ("clarabel",) if full else ())
        for D, full in sizes.items()
    ]


def _measure_speed(case: ExperimentCase) -> dict[str, Any]:
    X, rows = synthetic(case.settings["D"])
    tol = case.settings["tol"]
    result, seconds = column_generation(X, rows, tol)
    certificate = result.certificate
    found = {
        "triplets": len(rows),
        "rounds": result.iterations,
        "rank": result.matrix.rank,
        "seconds": seconds,
        "gap": certificate.relative if certificate else None,
        "value": -result.value,
    }
    if case.settings["full"]:
        optimum, _, spent = full_sdp(X, rows, tol)
        found |= {"full": spent, "optimum": optimum}
    return found


def _present_speed(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows, facts = [], {}
    for name, found in measured.items():
        other = ""
        if "full" in found:
            ratio = found["full"] / found["seconds"]
            other = f"{found['full']:.2f} ({ratio:.1f} times), optimum {found['optimum']:.7f}"
            facts[f"ratio-{name.removeprefix('D = ')}"] = f"{ratio:.1f}"
        rows.append(
            (
                name,
                f"{found['triplets']:,}",
                str(found["rounds"]),
                f"{found['gap']:.1e}",
                f"{found['seconds']:.2f}",
                str(found["rank"]),
                f"{found['value']:.7f}",
                other,
            )
        )
    columns = ("order", "triplets", "rounds", "certified gap", "seconds", "rank", "optimum", "Clarabel, full SDP")
    caption = "Processor seconds to a certified relative gap of 1e-4"
    return Findings((ResultTable(caption, columns, tuple(rows)),), facts=facts)


def _digit_cases(quick: bool) -> list[ExperimentCase]:
    if quick:
        return []
    return [ExperimentCase(f"split {seed}", {"seed": seed}, ("pendigits",), ("clarabel",)) for seed in range(5)]


def _measure_digits(case: ExperimentCase) -> dict[str, Any]:
    X, y, _ = load("pendigits")
    rng = np.random.default_rng(case.settings["seed"])
    chosen = [rng.permutation(np.flatnonzero(y == digit))[:580] for digit in (1, 5, 7, 9)]
    train, test = np.concatenate([c[:80] for c in chosen]), np.concatenate([c[80:] for c in chosen])
    Z = X / 100.0
    rows = nearest_triplets(Z[train], y[train], 1)
    ours, seconds = column_generation(Z[train], rows, 1e-4)
    optimum, M, spent = full_sdp(Z[train], rows, 1e-6)
    errors = {}
    for name, matrix in zip(METRICS, (np.eye(16), ours.matrix.to_dense(), M), strict=True):
        values, vectors = np.linalg.eigh(matrix)
        errors[name] = _one_nearest(Z, y, train, test, vectors * np.sqrt(np.maximum(values, 0.0)))
    return {"errors": errors, "value": -ours.value, "optimum": optimum, "seconds": [seconds, spent]}


def _one_nearest(Z: Array, y: Array, train: Array, test: Array, L: Array) -> float:
    model = KNeighborsClassifier(1).fit(Z[train] @ L, y[train])
    return 100.0 * (1.0 - float(model.score(Z[test] @ L, y[test])))


def _present_digits(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    columns = ("split", *(f"{name}, error %" for name in METRICS), "objective", "objective of the SDP", "seconds")
    rows = [
        (
            name,
            *(f"{found['errors'][metric]:.2f}" for metric in METRICS),
            f"{found['value']:.6f}",
            f"{found['optimum']:.6f}",
            "{:.2f}, {:.2f}".format(*found["seconds"]),
        )
        for name, found in measured.items()
    ]
    comparisons: tuple[Comparison, ...] = ()
    facts = {}
    if measured:
        mean = {metric: float(np.mean([found["errors"][metric] for found in measured.values()])) for metric in METRICS}
        rows.append(("mean", *(f"{mean[metric]:.2f}" for metric in METRICS), "", "", ""))
        comparisons = tuple(Comparison(f"1-NN error, {metric}", mean[metric], 1.3, unit="%") for metric in METRICS[1:])
        same = sum(found["errors"][METRICS[1]] == found["errors"][METRICS[2]] for found in measured.values())
        facts = {"identical": f"{same} of {len(measured)}"}
    return Findings(
        (ResultTable("1-NN error on 500 samples of each digit", columns, tuple(rows)),), comparisons, facts=facts
    )


def _pixel_cases(quick: bool) -> list[ExperimentCase]:
    if quick:
        return []
    return [ExperimentCase("30 × 30 pixels", {"triplets": 1000, "tol": 1e-3}, ("mnist10k",))]


def _measure_pixels(case: ExperimentCase) -> dict[str, Any]:
    X, y, _ = load("mnist10k")
    images = np.array([zoom(row.reshape(28, 28), 30 / 28, order=1).ravel() for row in X[:4000]]) / 255.0
    y = y[:4000]
    rows = nearest_triplets(images[:2000], y[:2000], 1)
    rows = rows[np.random.default_rng(0).permutation(len(rows))[: case.settings["triplets"]]]
    result, seconds = column_generation(images[:2000], rows, case.settings["tol"])
    train, test = np.arange(2000), np.arange(2000, 4000)
    errors = [_one_nearest(images, y, train, test, L) for L in (np.eye(900), result.matrix.factor)]
    gap = result.certificate.relative if result.certificate else None
    return {"rounds": result.iterations, "seconds": seconds, "gap": gap, "rank": result.matrix.rank, "errors": errors}


def _present_pixels(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    columns = ("images", "rounds", "certified gap", "seconds", "rank", "1-NN error %, Euclidean", "learned")
    rows = tuple(
        (
            name,
            str(found["rounds"]),
            f"{found['gap']:.1e}",
            f"{found['seconds']:.1f}",
            str(found["rank"]),
            f"{found['errors'][0]:.1f}",
            f"{found['errors'][1]:.1f}",
        )
        for name, found in measured.items()
    )
    return Findings((ResultTable("D = 900, 1,000 triplets", columns, rows),))
