"""Draws metric.png: wines before and after KTA, split and scaled as ``psdopt run metric-kta --data wine`` does."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from psdopt_plugins.metric_learning import KTA

COLOURS, MARKERS = ("#8a1538", "#d99a00", "#1f6f8b"), "os^"


def main() -> None:
    X, y = load_wine(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    metric = KTA().fit(X, y)
    figure, panels = plt.subplots(1, 2, figsize=(8, 4.1), layout="constrained")
    for panel, title, near, new in [
        (panels[0], "Euclidean", X, X_test),
        (panels[1], "learned", metric.transform(X), metric.transform(X_test)),
    ]:
        wrong = np.sum(KNeighborsClassifier(3).fit(near, y).predict(new) != y_test)
        plane = PCA(2, random_state=0).fit(near)
        for label, (colour, marker) in enumerate(zip(COLOURS, MARKERS, strict=True)):
            panel.scatter(*plane.transform(near[y == label]).T, s=14, c=colour, marker=marker, alpha=0.3, linewidth=0)
            shown = plane.transform(new[y_test == label]).T
            panel.scatter(*shown, s=52, c=colour, marker=marker, edgecolor="white", linewidth=0.7)
        panel.set_title(f"{title} distance: {wrong} of {len(y_test)} wrong", fontsize=15, pad=10)
        panel.set(xticks=[], yticks=[])
        panel.set_box_aspect(1)
        panel.spines[:].set_color("0.8")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130)


if __name__ == "__main__":
    main()
