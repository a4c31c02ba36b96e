"""
The nearest correlation matrix
==============================

Correlations that were estimated pair by pair, each from the days that both series have, may form a matrix with negative
eigenvalues, which gives some portfolio a negative variance. The nearest correlation matrix, the minimiser of ‖M − G‖²
over M ⪰ 0 with ones on the diagonal, repairs this with the smallest change. Here it is
composed by hand; :class:`~psdopt_plugins.relaxations.NearestCorrelation` is the estimator.
"""

import matplotlib.pyplot as plt
import numpy as np

from psdopt import Constrained, QuadraticSDP, constraints, solve

rng = np.random.default_rng(1)
n, days = 40, 60
sector = np.repeat(np.arange(4), n // 4)
returns = (
    rng.standard_normal((days, 4))[:, sector]
    + rng.standard_normal((days, 1))
    + rng.standard_normal((days, n))
)
returns[rng.random(returns.shape) < 0.4] = np.nan
G = np.eye(n)
for i in range(n):
    for j in range(i):
        both = ~np.isnan(returns[:, i] + returns[:, j])
        G[i, j] = G[j, i] = np.corrcoef(returns[both, i], returns[both, j])[
            0, 1
        ]
result = solve(
    Constrained(QuadraticSDP(B=1.0, C=-G), constraints.diagonal(n, 1.0))
)
M = result.matrix.to_dense()
print(result)
print(
    f"smallest eigenvalue before {np.linalg.eigvalsh(G)[0]:.3f},",
    f"after {np.linalg.eigvalsh(M)[0]:.1e}",
)
print(f"largest change of an entry {np.abs(M - G).max():.3f}")

# %%
# The four sectors are blocks. The spectra, right, differ where G's is negative.
figure, panels = plt.subplots(
    1, 3, figsize=(11, 3.3), layout="constrained", width_ratios=[1, 1.25, 1.15]
)
panels[0].imshow(G, cmap="RdBu_r", vmin=-1, vmax=1)
image = panels[1].imshow(M, cmap="RdBu_r", vmin=-1, vmax=1)
figure.colorbar(image, ax=panels[1], shrink=0.85)
for panel, title in [
    (panels[0], "pairwise estimates G"),
    (panels[1], "nearest correlation matrix M"),
]:
    panel.set(title=title, xticks=[], yticks=[])
    panel.spines[:].set_visible(False)
panels[2].axhline(0, color="0.7", linewidth=0.8)
for matrix, marker, colour, label in [
    (G, "o", "#d03030", "G"),
    (M, ".", "#1f6f8b", "M"),
]:
    panels[2].plot(
        np.linalg.eigvalsh(matrix)[:25],
        marker,
        color=colour,
        mfc="none" if marker == "o" else colour,
        label=label,
    )
panels[2].set(title="25 smallest eigenvalues", xlabel="index")
panels[2].legend()
plt.show()
