"""Maximum variance unfolding beyond the experiments of the paper on BILGO: size, pictures.

    python -m benchmarks.mvu large --sizes 20000
    python -m benchmarks.mvu pictures --plot docs/experiments/figures/bilgo_unfolding.png

Table 3 of the paper is measured by `python -m benchmarks reproduce --only bilgo-table-3`. Times are processor seconds.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence

import numpy as np
from sklearn.datasets import load_digits, make_swiss_roll

from benchmarks.papers.bilgo_unfolding import graph_of
from psdopt_plugins.manifold_learning.unfolding import unfold


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
    parser.add_argument("what", choices=("large", "pictures"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[500])
    parser.add_argument("--plot", help="PNG file")
    args = parser.parse_args(argv)
    {"large": large, "pictures": pictures}[args.what](args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
