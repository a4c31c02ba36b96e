"""Draws pairwise_kernel.png: a chessboard and a double spiral, by k-means on the points and on learned kernels."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from psdopt_plugins.kernel_learning.pairwise_estimator import PairwiseKernel


def chessboard(rng, n=200, squares=3):
    X = squares * rng.random((n, 2))
    return X, X.astype(int).sum(axis=1) % 2


def double_spiral(rng, n=200):
    angle = np.sqrt(rng.random(n // 2)) * 2.5 * np.pi + 0.5 * np.pi
    arm = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)]) + 0.4 * rng.standard_normal((n // 2, 2))
    return np.concatenate([arm, -arm]), np.repeat([0, 1], n // 2)


def main() -> None:
    figure, axes = plt.subplots(2, 3, figsize=(10, 6.4))
    for row, (name, make) in zip(axes, (("chessboard", chessboard), ("double spiral", double_spiral)), strict=True):
        X, y = make(np.random.default_rng(1))
        before = KMeans(2, n_init=10, random_state=0).fit(X)
        after = PairwiseKernel(2, random_state=0).fit(X, y)
        for axis, model, title in ((row[0], before, "k-means on the points"), (row[1], after, "with pairs")):
            labels = model.labels_ if np.mean(model.labels_ == y) >= 0.5 else 1 - model.labels_
            axis.scatter(*X.T, c=np.where(labels == 1, "tab:orange", "tab:blue"), s=14)
            axis.scatter(*X[labels != y].T, facecolors="none", edgecolors="black", s=46, linewidths=0.8)
            axis.set_title(f"{name}, {title}: {np.mean(labels == y):.0%}", fontsize=10)
            axis.set_xticks([])
            axis.set_yticks([])
        for pairs, style in ((after.must_link_, "tab:green"), (after.cannot_link_, "tab:red")):
            for i, j in pairs[:25]:
                row[1].plot(*X[[i, j]].T, color=style, linewidth=0.5, alpha=0.5)
        E = after.embedding_
        row[2].scatter(E[:, 0], E[:, min(1, E.shape[1] - 1)], c=np.where(y == 1, "tab:orange", "tab:blue"), s=14)
        row[2].set_title(f"embedding, rank {after.rank_}", fontsize=10)
        row[2].set_aspect("equal", "datalim")
    figure.tight_layout()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=90)


if __name__ == "__main__":
    main()
