"""
A map from one distance in five
===============================

A fifth of all distances between 64 places is known, each with an error of up to three per cent; the others are NaN.
SSTRESS finds the places from the distances, up to a rigid motion, which is undone for the picture.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.spatial.distance import pdist, squareform

from psdopt_plugins.manifold_learning import SSTRESS

rng = np.random.default_rng(0)
turn = np.linspace(0.3, 6 * np.pi, 64)
places = np.column_stack(
    [turn * np.cos(turn), turn * np.sin(turn)]
) / 6 + 0.05 * rng.standard_normal((64, 2))
noisy = squareform(
    pdist(places) * (1 + 0.03 * rng.uniform(-1, 1, 64 * 63 // 2))
)
known = np.triu(rng.random((64, 64)) < 0.2, 1)
measured = np.where(known | known.T | np.eye(64, dtype=bool), noisy, np.nan)
model = SSTRESS(dissimilarity="precomputed").fit(measured)
print(f"{known.sum()} of {64 * 63 // 2} distances known")
print(model.result_)

# %%
# Crosses: where the places are. Dots: where the map puts them.
centred, target = (
    model.embedding_ - model.embedding_.mean(axis=0),
    places - places.mean(axis=0),
)
U, _, Vt = np.linalg.svd(centred.T @ target)
found = centred @ U @ Vt
error = np.linalg.norm(found - target, axis=1)
figure, panels = plt.subplots(1, 2, figsize=(9, 4.3), layout="constrained")
panels[0].imshow(np.ma.masked_invalid(measured), cmap="viridis")
panels[0].set(title="what is known", xlabel="place", ylabel="place")
panels[0].set_facecolor("0.93")
i, j = np.nonzero(known)
panels[1].add_collection(
    LineCollection(
        np.stack([target[i], target[j]], axis=1),
        colors="0.9",
        linewidths=0.5,
        zorder=0,
    )
)
panels[1].plot(*target.T, "x", color="0.25", markersize=5)
panels[1].scatter(
    *found.T, c=turn, cmap="viridis", s=26, edgecolor="white", linewidth=0.4
)
panels[1].set(
    title=f"the map, off by {np.median(error):.2f} in the median",
    xticks=[],
    yticks=[],
    aspect="equal",
)
panels[1].spines[:].set_visible(False)
plt.show()
