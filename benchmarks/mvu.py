"""Maximum variance unfolding: figures 3-4 and table 3 of the paper on BILGO, size, conic solvers, pictures.

    python -m benchmarks.mvu table --data roll --sizes 500 1000 3000 --factor 20
    python -m benchmarks.mvu table --data w1a --sizes 500 1000 2000 2477 --most 75 --plot mvu_w1a.png
    python -m benchmarks.mvu large --sizes 20000
    python -m benchmarks.mvu conic --sizes 30 50 100 --limit 90
    python -m benchmarks.mvu pictures --plot docs/experiments/figures/bilgo_unfolding.png

Times are processor seconds. Data sets other than the swiss roll come from the folder named by PSDOPT_DATA.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_swiss_roll

from benchmarks.bilgo import data_set
from psdopt import PSDCone
from psdopt.methods.projected_gradient import ProjectedGradient
from psdopt_plugins.manifold_learning.graph import Edges, nearest_neighbour_edges, smallest_connecting
from psdopt_plugins.manifold_learning.mvu_problem import mvu_problem
from psdopt_plugins.manifold_learning.unfolding import unfold

#: "The same value" means within this fraction of |F|.
SAME = 1e-3


def graph_of(data: str, n: int) -> Edges:
    """5 neighbours, or as few more as connect the graph, of n points; repeated rows are dropped."""
    if data == "roll":
        X = make_swiss_roll(n, random_state=0)[0]
    else:
        X = data_set(data)[1][:n]
        X = np.unique(X.toarray() if sp.issparse(X) else X, axis=0)
    edges = nearest_neighbour_edges(X, 5)
    return edges if edges.components()[0] == 1 else nearest_neighbour_edges(X, smallest_connecting(X, 5))


def table(args: argparse.Namespace) -> None:
    """Ours, and accelerated projected gradient until it has the same value or `factor` times our time is over."""
    curves = []
    for n in args.sizes:
        edges = graph_of(args.data, n)
        own = _Course()
        ours = unfold(edges, None, 0.05, options={"callback": own})
        seconds = time.process_time() - own.begin
        value, certificate = ours.result.value, ours.result.certificate
        print(
            f"{args.data} n {edges.n:5d} edges {len(edges.i):6d} nu {ours.nu:.3g} rank {ours.result.rank:3d} "
            f"{ours.result.status.label} certificate {certificate.relative:.1e} gap {certificate.gap:.3g} "
            f"edge error {np.median(ours.errors):.3f} | ours {value:.7g} in {seconds:.2f} s",
            flush=True,
        )
        target, limit = value + SAME * abs(value), min(args.factor * seconds, args.most)
        course: list[tuple[float, float]] = []
        begin = time.process_time()
        problem = mvu_problem(edges.matrix(), ours.nu)
        state = ProjectedGradient().init(problem, PSDCone(edges.n), np.zeros((edges.n, 1)))
        while True:  # without the final certificate, which a comparison of times should not pay for
            state = ProjectedGradient().step(state)
            course.append((time.process_time() - begin, state.evaluation.value))
            if course[-1][1] <= target or course[-1][0] > limit:
                break
        reached = course[-1][1] <= target
        outcome = "the same value, ratio" if reached else "not there, ratio >"
        print(
            f"    projected gradient {course[-1][1]:.7g} after {len(course)} steps, {course[-1][0]:.1f} s: "
            f"{outcome} {course[-1][0] / seconds:.1f}",
            flush=True,
        )
        curves.append((edges.n, certificate.dual_value, certificate.value_at_zero, own.points, course))
    if args.plot:
        _plot_curves(args.data, curves, args.plot)


class _Course:
    """(processor seconds, F) after each step of the stage at the last nu: F is another function at every nu."""

    def __init__(self) -> None:
        self.begin = time.process_time()
        self.points: list[tuple[float, float]] = []

    def __call__(self, snapshot: Any) -> None:
        if snapshot.iteration == 1:
            self.points = []
        self.points.append((time.process_time() - self.begin, snapshot.value))


def _plot_curves(data: str, curves: list[Any], path: str) -> None:
    """Height above the proven bound, as a fraction of that of F(0), against seconds; a panel for each n."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows, columns = -(-len(curves) // 2), min(2, len(curves))
    figure, axes = plt.subplots(
        rows, columns, figsize=(4.8 * columns, 3.1 * rows), layout="constrained", squeeze=False, sharey=True
    )
    for axis in axes.ravel()[len(curves) :]:
        axis.set_visible(False)
    for axis, (n, bound, at_zero, own, course) in zip(axes.ravel(), curves, strict=False):
        for name, points, style in (("accelerated projected gradient", course, "."), ("ours", own, "o")):
            times, values = np.array(points).T
            axis.plot(times, (values - bound) / (at_zero - bound), marker=style, markersize=3, label=name)
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter("")
        axis.set_yscale("log")
        axis.set_title(f"{data}, n = {n}")
        axis.set_xlabel("processor seconds")
    for row in axes:
        row[0].set_ylabel("(F − bound) / (F(0) − bound)")
    axes[0][0].legend(fontsize=8)
    figure.savefig(path, dpi=90)


def large(args: argparse.Namespace) -> None:
    """Time and memory of a certified unfolding of a swiss roll."""
    for n in args.sizes:
        edges = graph_of("roll", n)
        begin = time.process_time()
        found = unfold(edges, None, 0.05)
        seconds = time.process_time() - begin
        certificate = found.result.certificate.relative
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"n {n} edges {len(edges.i)} {found.result.status.label} certificate {certificate:.1e} "
            f"median edge error {np.median(found.errors):.3f} rank {found.result.rank} {found.iterations} steps "
            f"{seconds:.1f} s, peak memory {peak:.0f} MB",
            flush=True,
        )


def conic(args: argparse.Namespace) -> None:
    """SCS and Clarabel through cvxpy on the same F, each stopped after `limit` seconds."""
    for n in args.sizes:
        edges = graph_of("roll", n)
        begin = time.process_time()
        ours = unfold(edges, None, 0.05)
        relative = ours.result.certificate.relative
        print(f"n {n} ours {ours.result.value:.7g} {time.process_time() - begin:.2f} s certificate {relative:.1e}")
        for solver in ("SCS", "CLARABEL"):
            answer: Any = multiprocessing.Queue()
            worker = multiprocessing.Process(target=_by_cvxpy, args=(edges, ours.nu, solver, answer))
            worker.start()
            worker.join(args.limit)
            if worker.is_alive():
                worker.terminate()
                print(f"    {solver}: no answer after {args.limit:.0f} s", flush=True)
            else:
                print(f"    {solver}: {answer.get() if not answer.empty() else 'no answer'}", flush=True)


def _by_cvxpy(edges: Edges, nu: float, solver: str, answer: Any) -> None:
    import cvxpy

    n = edges.n
    M = cvxpy.Variable((n, n), PSD=True)
    d = cvxpy.diag(M)[edges.i] + cvxpy.diag(M)[edges.j] - 2 * M[edges.i, edges.j]
    spread = cvxpy.trace(M) - cvxpy.sum(M) / n
    problem = cvxpy.Problem(cvxpy.Minimize(2 * cvxpy.sum_squares(d - edges.squared) - nu * spread), [cvxpy.sum(M) == 0])
    begin = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=solver)
        answer.put(f"{problem.status} {problem.value:.7g} {time.process_time() - begin:.1f} s")
    except Exception as error:  # a comparison goes on when a peer fails
        answer.put(f"failed: {error}")


def pictures(args: argparse.Namespace) -> None:
    """A swiss roll and two digits, unfolded, beside Isomap and LLE."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from sklearn.manifold import Isomap, LocallyLinearEmbedding

    from psdopt_plugins.manifold_learning import MaximumVarianceUnfolding

    X, t = make_swiss_roll(1500, random_state=0)
    digits, labels = load_digits(return_X_y=True)
    some = np.isin(labels, (3, 8))
    figure, axes = plt.subplots(2, 3, figsize=(13, 7), layout="constrained")
    for row, (name, data, colour) in enumerate((("swiss roll", X, t), ("digits 3 and 8", digits[some], labels[some]))):
        for column, model in enumerate((
            MaximumVarianceUnfolding(n_neighbors=6), Isomap(n_neighbors=6), LocallyLinearEmbedding(n_neighbors=6),
        )):  # fmt: skip
            Y = model.fit_transform(data)
            axes[row, column].scatter(*Y.T, c=colour, s=6, cmap="viridis")
            axes[row, column].set_title(f"{type(model).__name__}, {name}")
            if column < 2:
                axes[row, column].set_aspect("equal", "datalim")
    figure.savefig(args.plot or "mvu_pictures.png", dpi=80)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("table", "large", "conic", "pictures"))
    parser.add_argument("--data", default="roll")
    parser.add_argument("--sizes", type=int, nargs="+", default=[500])
    parser.add_argument("--factor", type=float, default=20.0, help="multiple of our time given to projected gradient")
    parser.add_argument("--most", type=float, default=float("inf"), help="seconds at most for projected gradient")
    parser.add_argument("--limit", type=float, default=90.0, help="seconds for a conic solver")
    parser.add_argument("--plot", help="PNG file")
    args = parser.parse_args(argv)
    {"table": table, "large": large, "conic": conic, "pictures": pictures}[args.what](args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
