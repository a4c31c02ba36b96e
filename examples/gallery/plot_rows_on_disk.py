"""
Rows on disk
============

The rows of a file larger than the memory never need to be there together. Kernel target alignment asks for XᵀX and
YᵀX alone, and one pass over blocks of rows makes both. A memory map stands for the file here; Zarr, HDF5 and
Parquet files and Dask arrays are read in the same way.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from psdopt.linalg import linear_map, watching
from psdopt_plugins.metric_learning import KTA

rng = np.random.default_rng(0)
m, d = 300_000, 32
means = 1.2 * rng.standard_normal((3, d))
labels = rng.integers(3, size=m)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "rows.npy"
rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(m, d))
for first in range(0, m, 50_000):
    noise = np.cumsum(rng.standard_normal((50_000, d)), axis=1)  # neighbours are correlated
    rows[first : first + 50_000] = means[labels[first : first + 50_000]] + noise
del rows
X = np.load(path, mmap_mode="r")
print(f"{path.stat().st_size / 1e6:.0f} MB on disk")

# %%
# What is held at a time is a block. Here is each block's share of one pass.
progress = []
with watching(lambda name, done, total: progress.append(done / total)):
    gram, _ = linear_map(X).moments()
print(f"{len(progress)} blocks make XᵀX {gram.shape}")
model = KTA(lam=1e-10).fit(X, labels)
print(model.result_)

# %%
# The noise is a random walk, in which the three classes drown. The metric has learned to undo the walk: M is nearly
# the square of a difference, large next to the diagonal with the opposite sign.
few = np.asarray(X[:4000])
figure, panels = plt.subplots(1, 3, figsize=(11, 3.3), layout="constrained", width_ratios=[1, 1, 1.15])
for panel, title, Z in [(panels[0], "rows of the file", few), (panels[1], "under the metric", model.transform(few))]:
    Z = Z - Z.mean(axis=0)
    first = Z @ np.linalg.svd(Z, full_matrices=False)[2][:2].T
    panel.scatter(*first.T, c=labels[:4000], cmap="plasma", s=3, linewidth=0, vmax=2.4)
    panel.set(title=title, xticks=[], yticks=[], xlabel="first principal axis")
M = model.get_mahalanobis_matrix()
image = panels[2].imshow(M, cmap="RdBu_r", vmin=-np.abs(M).max(), vmax=np.abs(M).max())
panels[2].set(title="M", xticks=[], yticks=[])
figure.colorbar(image, ax=panels[2], shrink=0.85)
plt.show()
del X, model
folder.cleanup()
