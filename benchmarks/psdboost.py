"""PSDBoost: figure 1, the pendigits experiment, a 30 × 30 pixel case, and times against Clarabel on the full SDP.

    python -m benchmarks.psdboost figure1 [--image docs/images/psdboost_figure1.png]
    python -m benchmarks.psdboost pendigits [--repeats 5]      (needs PSDOPT_DATA)
    python -m benchmarks.psdboost pixels [--triplets 1000]     (needs PSDOPT_DATA)
    python -m benchmarks.psdboost speed [--sizes 24 64 200 784]  (784 needs PSDOPT_DATA)
    python -m benchmarks.psdboost masters [--sizes 24 64 200]  (both solvers of the block master)
    python -m benchmarks.psdboost memory                       (needs PSDOPT_DATA)

Seconds are processor seconds of one process (set OPENBLAS_NUM_THREADS=1): both sides of a ratio are measured in
one run.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import resource
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.ndimage import zoom
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.psdboost_masters import ConicMaster, Level, Proximal
from psdopt import Method, Result, solve
from psdopt.geometries.spectraplex import Spectraplex
from psdopt.margins.column_generation import ColumnGeneration
from psdopt_plugins.metric_learning.triplet_problem import triplet_margin_problem
from psdopt_plugins.pair_sampling import nearest_triplets
from psdopt_plugins.papers import MatrixGeneration
from psdopt_plugins.papers.data import load

#: C = 1/(NU m) throughout.
NU = 0.1
#: samples, classes, neighbours of the synthetic instances: order D -> (N, classes, n_neighbors, m)
SYNTHETIC = {24: (600, 2, 1, 550), 64: (1000, 2, 1, 960), 200: (2500, 4, 2, 5000)}


def synthetic(D: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(X, triplets): overlapping Gaussian classes whose features have different scales."""
    N, classes, k, m = SYNTHETIC[D]
    rng = np.random.default_rng(seed)
    centres, y = 0.3 * rng.standard_normal((classes, D)), rng.integers(0, classes, N)
    X = (centres[y] + rng.standard_normal((N, D))) * np.exp(0.5 * rng.standard_normal(D)) / math.sqrt(D)
    rows = nearest_triplets(X, y, k)
    return X, rows[rng.permutation(len(rows))[:m]]


def column_generation(
    X: np.ndarray, rows: np.ndarray, tol: float, rounds: int = 100, method: Method | None = None
) -> tuple[Result, float]:
    """The result, and the processor seconds it took, the making of the problem included."""
    start = time.process_time()
    problem = triplet_margin_problem(X, rows, 1.0 / (NU * len(rows)))
    result = solve(problem, Spectraplex(X.shape[1]), method or ColumnGeneration(), tol=tol, max_iterations=rounds)
    return result, time.process_time() - start


def full_sdp(X: np.ndarray, rows: np.ndarray, tol: float) -> tuple[float, np.ndarray, float]:
    """(optimum, M, processor seconds) of the SDP by Clarabel, called without a modelling layer."""
    import clarabel

    start = time.process_time()
    m, D = len(rows), X.shape[1]
    C = 1.0 / (NU * m)
    j, i = np.tril_indices(D)  # columns of the upper triangle, as Clarabel orders them
    weight = np.where(i == j, 1.0, math.sqrt(2.0))
    far, near = X[rows[:, 0]] - X[rows[:, 2]], X[rows[:, 0]] - X[rows[:, 1]]
    A = (far[:, i] * far[:, j] - near[:, i] * near[:, j]) * weight
    p = len(i)
    none = sp.csr_array
    blocks = [
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
    return -float(solution.obj_val), M, time.process_time() - start


def figure1(image: str, rounds: int) -> None:
    """Value and bound of every round: as printed, stabilised, and by the block master."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X, rows = synthetic(24)
    best, _ = column_generation(X, rows, 1e-7)
    optimum = -best.value
    print(f"optimum {optimum:.8f} (relative gap {best.certificate.relative:.1e})")
    runs: dict[str, Method] = {
        "linear program, as printed": MatrixGeneration("none"),
        "linear program, smoothed duals": MatrixGeneration(),
        "linear program, level": MatrixGeneration(Level(), max_columns=120),
        "linear program, proximal": MatrixGeneration(Proximal(), max_columns=120),
        "block master, 8 columns a round": ColumnGeneration(columns=8),
    }
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for name, method in runs.items():
        result, seconds = column_generation(X, rows, 1e-4, rounds, method)
        records = result.history.records
        steps = np.arange(len(records))
        dual = -np.array([record["master_value"] for record in records])
        gap = np.array([record["gap"] for record in records]) / abs(optimum)
        (line,) = left.plot(steps[1:], dual[1:], label=name)
        left.plot(steps[1:], -np.array([r["bound"] for r in records])[1:], color=line.get_color(), linestyle=":")
        right.semilogy(steps, np.maximum(gap, 1e-5), color=line.get_color(), label=name)
        print(f"{name}: {result.iterations} rounds, relative gap {gap[-1]:.2g}, {seconds:.2f} s", flush=True)
    left.axhline(optimum, color="black", linewidth=0.8, label="optimum of the SDP")
    spread = 0.06
    left.set(xlabel="round", ylabel="objective", ylim=(optimum - spread, optimum + spread), xscale="log")
    left.legend(loc="lower right", fontsize=8, title="solid: master; dotted: best bound", title_fontsize=8)
    right.axhline(1e-4, color="black", linewidth=0.8)
    right.set(xlabel="round", ylabel="relative gap", xscale="log")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    fig.tight_layout()
    fig.savefig(image, dpi=130)


def pendigits(repeats: int) -> None:
    """Digits 1, 5, 7, 9: 80 samples of each to learn from, 500 to test 1-NN."""
    X, y, _ = load("pendigits")
    errors: dict[str, list[float]] = {"Euclidean": [], "column generation": [], "full SDP": []}
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        chosen = [rng.permutation(np.flatnonzero(y == digit))[:580] for digit in (1, 5, 7, 9)]
        train, test = np.concatenate([c[:80] for c in chosen]), np.concatenate([c[80:] for c in chosen])
        Z = X / 100.0
        rows = nearest_triplets(Z[train], y[train], 1)
        ours, seconds = column_generation(Z[train], rows, 1e-4)
        optimum, M, other = full_sdp(Z[train], rows, 1e-6)
        for name, matrix in (
            ("Euclidean", np.eye(16)), ("column generation", ours.matrix.to_dense()), ("full SDP", M),
        ):  # fmt: skip
            values, vectors = np.linalg.eigh(matrix)
            L = vectors * np.sqrt(np.maximum(values, 0.0))
            model = KNeighborsClassifier(1).fit(Z[train] @ L, y[train])
            errors[name].append(100.0 * (1.0 - model.score(Z[test] @ L, y[test])))
        print(
            f"seed {seed}: objective {-ours.value:.6f} in {ours.iterations} rounds, {seconds:.2f} s; "
            f"SDP {optimum:.6f}, {other:.2f} s; rank {ours.matrix.rank}; errors "
            + ", ".join(f"{found[-1]:.2f}" for found in errors.values())
        )
    for name, found in errors.items():
        print(f"{name}: 1-NN error {np.mean(found):.2f} % (standard deviation {np.std(found):.2f})")


def pixels(m: int, tol: float) -> None:
    """mnist10k at 30 × 30 pixels, D = 900: the size that the paper calls out of reach for SDP solvers."""
    X, y, _ = load("mnist10k")
    images = np.array([zoom(row.reshape(28, 28), 30 / 28, order=1).ravel() for row in X[:4000]]) / 255.0
    y = y[:4000]
    rows = nearest_triplets(images[:2000], y[:2000], 1)
    rows = rows[np.random.default_rng(0).permutation(len(rows))[:m]]
    result, seconds = column_generation(images[:2000], rows, tol)
    print(f"D = 900, {len(rows)} triplets: {result}, {seconds:.1f} s, rank {result.matrix.rank}")
    for name, L in (("Euclidean", np.eye(900)), ("learned", result.matrix.factor)):
        model = KNeighborsClassifier(1).fit(images[:2000] @ L, y[:2000])
        print(f"{name}: 1-NN error {100 * (1 - model.score(images[2000:] @ L, y[2000:])):.2f} %")


def instance(D: int, m: int = 10_000) -> tuple[np.ndarray, np.ndarray]:
    """Synthetic up to D = 200; at 784 `m` triplets of mnist10k, with as many neighbours as these take."""
    if D != 784:
        return synthetic(D)
    X, y, _ = load("mnist10k")
    N, k = (2500, 2) if m <= 10_000 else (10_000, 4)
    X, y = X[:N] / 255.0, y[:N]
    rows = nearest_triplets(X, y, k)
    return X, rows[np.random.default_rng(0).permutation(len(rows))[:m]]


def speed(sizes: list[int], limit: int, gigabytes: int) -> None:
    """Processor seconds to relative gap 1e-4 (784: 1e-3), beside Clarabel on the full SDP up to D = 200."""
    for D in sizes:
        tol = 1e-3 if D == 784 else 1e-4
        X, rows = instance(D)
        result, seconds = column_generation(X, rows, tol)
        assert result.certificate is not None
        text = f"D = {D}, {len(rows)} triplets: {result.iterations} rounds, {seconds:.2f} s, "
        text += f"gap {result.certificate.relative:.1e}, rank {result.matrix.rank}"
        print(text, flush=True)
        if D <= 64:
            optimum, _, other = full_sdp(X, rows, tol)
            print(
                f"  Clarabel {other:.2f} s ({other / seconds:.1f} times), optima {-result.value:.7f} and {optimum:.7f}",
                flush=True,
            )
        elif D == 200:
            print("  Clarabel:", limited_sdp(X, rows, tol, limit, gigabytes), flush=True)


def limited_sdp(X: np.ndarray, rows: np.ndarray, tol: float, seconds: int, gigabytes: int) -> str:
    """What became of Clarabel on the full SDP in a process of `seconds` processor seconds and `gigabytes`."""
    queue: Any = multiprocessing.Queue()
    start = time.perf_counter()
    child = multiprocessing.Process(target=_limited, args=(queue, X, rows, tol, seconds, gigabytes))
    child.start()
    child.join()
    wall = time.perf_counter() - start
    if not queue.empty():
        return str(queue.get())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = used.ru_utime + used.ru_stime
    how = f"ended by signal {-(child.exitcode or 0)} after {spent:.0f} s ({wall:.0f} s by the clock)"
    return f"{how}, {used.ru_maxrss / 1e6:.1f} GB"


def _limited(queue: Any, X: np.ndarray, rows: np.ndarray, tol: float, seconds: int, gigabytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (gigabytes * 10**9, gigabytes * 10**9))
    try:
        optimum, _, spent = full_sdp(X, rows, tol)
    except MemoryError:
        queue.put(f"out of memory ({gigabytes} GB) after {time.process_time():.0f} s")
    else:
        queue.put(f"optimum {optimum:.7f} after {spent:.0f} s")


def masters(sizes: list[int]) -> None:
    """The same runs with the library's block master and with Clarabel's."""
    for D in sizes:
        X, rows = instance(D)
        for solver, master in (("interior-point", "block"), ("clarabel", ConicMaster())):
            result, seconds = column_generation(X, rows, 1e-4, method=ColumnGeneration(master=master))
            assert result.certificate is not None
            text = f"D = {D}, {solver}: {result.iterations} rounds, {seconds:.2f} s"
            print(f"{text}, gap {result.certificate.relative:.1e}, {-result.value:.7f}", flush=True)


def memory(rounds: int) -> None:
    """Peak memory of 100,000 triplets at D = 784 after each stage."""
    X, rows = instance(784, 100_000)
    print(f"{len(rows)} triplets of {X.shape}: data {peak():.2f} GB", flush=True)
    problem = triplet_margin_problem(X, rows, 1.0 / (NU * len(rows)))
    evaluation = problem.at(np.random.default_rng(0).standard_normal((784, 20)))
    product = problem.combination(problem.dual_weights(evaluation)) @ evaluation.factor
    print(f"value, and sum w A times 20 columns {product.shape}: {peak():.2f} GB", flush=True)

    def show(snapshot: Any) -> None:
        gap = snapshot.record["gap"]
        print(f"round {snapshot.iteration}: gap {gap:.3g} at {snapshot.value:.6g}, {peak():.2f} GB", flush=True)

    start = time.process_time()
    result = solve(problem, tol=1e-3, max_iterations=rounds, callback=show)
    print(f"{result}, {time.process_time() - start:.0f} s, peak {peak():.2f} GB")


def peak() -> float:
    """Largest resident memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and run one experiment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ("figure1", "pendigits", "pixels", "speed", "masters", "memory")
    parser.add_argument("experiment", choices=names)
    parser.add_argument("--image", default="docs/images/psdboost_figure1.png")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--triplets", type=int, default=1000)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[24, 64, 200])
    parser.add_argument("--limit", type=int, default=300, help="processor seconds for Clarabel at D = 200")
    parser.add_argument("--memory", type=int, default=12, help="gigabytes of address space for it")
    given = parser.parse_args(argv)
    if given.experiment == "figure1":
        figure1(given.image, given.rounds)
    elif given.experiment == "pendigits":
        pendigits(given.repeats)
    elif given.experiment == "pixels":
        pixels(given.triplets, given.tol)
    elif given.experiment == "speed":
        speed(given.sizes, given.limit, given.memory)
    elif given.experiment == "masters":
        masters(given.sizes)
    else:
        memory(given.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
