"""
Rows on disk
============

Rows of a file larger than memory are read in blocks. Kernel target alignment needs only XᵀX and YᵀX, which one pass
over blocks of rows computes. This example uses a memory map; Zarr, HDF5 and Parquet files and Dask arrays are read in
the same way.
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
rows = np.lib.format.open_memmap(
    path, mode="w+", dtype=np.float32, shape=(m, d)
)
for first in range(0, m, 50_000):
    noise = np.cumsum(
        rng.standard_normal((50_000, d)), axis=1
    )  # neighbours are correlated
    rows[first : first + 50_000] = means[labels[first : first + 50_000]] + noise
del rows
X = np.load(path, mmap_mode="r")
print(f"{path.stat().st_size / 1e6:.0f} MB on disk")

# %%
# Only one block is in memory at a time. The observer records the progress of the pass after each block.
progress = []
with watching(lambda name, done, total: progress.append(done / total)):
    gram, _ = linear_map(X).moments()
print(f"{len(progress)} blocks make XᵀX {gram.shape}")
model = KTA(lam=1e-10).fit(X, labels)
print(model.result_)

# %%
# The noise is a random walk that hides the three classes. The metric has learned to undo the walk: M is nearly
# the square of a difference operator, with large entries of opposite sign next to the diagonal.
few = np.asarray(X[:4000])
figure, panels = plt.subplots(
    1, 3, figsize=(11, 3.3), layout="constrained", width_ratios=[1, 1, 1.15]
)
for panel, title, Z in [
    (panels[0], "rows of the file", few),
    (panels[1], "under the metric", model.transform(few)),
]:
    Z = Z - Z.mean(axis=0)
    first = Z @ np.linalg.svd(Z, full_matrices=False)[2][:2].T
    panel.scatter(
        *first.T, c=labels[:4000], cmap="plasma", s=3, linewidth=0, vmax=2.4
    )
    panel.set(title=title, xticks=[], yticks=[], xlabel="first principal axis")
M = model.get_mahalanobis_matrix()
image = panels[2].imshow(
    M, cmap="RdBu_r", vmin=-np.abs(M).max(), vmax=np.abs(M).max()
)
panels[2].set(title="M", xticks=[], yticks=[])
figure.colorbar(image, ax=panels[2], shrink=0.85)
plt.show()
del X, model
folder.cleanup()
