"""
A swiss roll unrolled
=====================

The data are 600 samples of a surface rolled up in space. Maximum variance unfolding (MVU) keeps the distances between
neighbours and maximises the variance; Isomap keeps lengths along the graph, and locally linear embedding keeps
local weights. MVU proves that no other kernel has a lower value of its objective.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap, LocallyLinearEmbedding

from psdopt_plugins.manifold_learning import MaximumVarianceUnfolding

X, position = make_swiss_roll(600, random_state=2)
mvu = MaximumVarianceUnfolding(n_components=2).fit(X)
print(mvu.result_)
print("eigenvalues of the learned kernel, in % of their sum:")
print((100 * mvu.eigenvalues_ / mvu.eigenvalues_.sum()).round(2)[:4])

# %%
# Two eigenvalues carry everything: the surface is two-dimensional.
embeddings = {
    "maximum variance unfolding": mvu.embedding_,
    "Isomap": Isomap(n_neighbors=6).fit_transform(X),
    "locally linear embedding": LocallyLinearEmbedding(
        n_neighbors=6, random_state=0
    ).fit_transform(X),
}
colours = {"c": position, "s": 9, "cmap": "Spectral"}
figure = plt.figure(figsize=(10, 4), layout="constrained")
grid = figure.add_gridspec(2, 3, width_ratios=[1.1, 1.5, 0.9])
roll = figure.add_subplot(grid[:, 0], projection="3d")
roll.scatter(*X.T, **colours)
roll.view_init(12, -72)
roll.set_box_aspect((1, 1, 1), zoom=1.25)
roll.set(title="600 samples", xticks=[], yticks=[], zticks=[])
for cell, (title, Z) in zip(
    [grid[0, 1], grid[1, 1], grid[:, 2]], embeddings.items(), strict=True
):
    panel = figure.add_subplot(cell)
    panel.scatter(
        Z[:, 0] * np.sign(np.corrcoef(Z[:, 0], position)[0, 1]),
        Z[:, 1],
        **colours,
    )
    panel.set(title=title, xticks=[], yticks=[])
    if "local" not in title:
        panel.set_aspect("equal")
    panel.spines[:].set_visible(False)
plt.show()
