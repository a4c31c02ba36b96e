"""
Max-cut, with a bound on what is possible
=========================================

Split the vertices of a graph so that as many edges as possible run between the halves. The relaxation of Goemans
and Williamson, max ⟨L, M⟩/4 over M ⪰ 0 with ones on the diagonal, is a semidefinite program. Its multipliers prove
that no cut has more edges than the bound, and random hyperplanes through its columns give cuts that come close.
:class:`~psdopt_plugins.relaxations.MaxCut` is the estimator that does all this.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from psdopt import Constrained, QuadraticSDP, constraints, solve

rng = np.random.default_rng(7)
n = 120
points = rng.random((n, 2))
i, j = np.triu_indices(n, 1)
near = np.linalg.norm(points[i] - points[j], axis=1) < 0.16
i, j = i[near], j[near]
A = np.zeros((n, n))
A[i, j] = A[j, i] = 1.0
L = np.diag(A.sum(axis=0)) - A
result = solve(
    Constrained(QuadraticSDP(C=-L / 8), constraints.diagonal(n, 1.0))
)  # QuadraticSDP is 2 tr(C M)
bound = -result.certificate.dual_value
print(result)
print(f"no cut of these {len(i)} edges has more than {bound:.2f}")

# %%
# Each row of the factor is a unit vector. A random hyperplane divides them.
sides = np.sign(
    result.matrix.factor
    @ rng.standard_normal((result.matrix.factor.shape[1], 500))
)
cuts = (sides[i] != sides[j]).sum(axis=0)
side = sides[:, cuts.argmax()]
print(
    f"best of 500 hyperplanes: {cuts.max()} edges,",
    f"{100 * cuts.max() / bound:.1f} % of the bound",
)

# %%
# Grey edges are cut, red ones are not.
figure, panels = plt.subplots(
    1, 2, figsize=(10, 4.4), layout="constrained", width_ratios=[1.1, 1]
)
edges = np.stack([points[i], points[j]], axis=1)
cut = side[i] != side[j]
panels[0].add_collection(
    LineCollection(edges[cut], colors="0.75", linewidths=0.8, zorder=0)
)
panels[0].add_collection(
    LineCollection(edges[~cut], colors="#d03030", linewidths=1.2, zorder=0)
)
panels[0].scatter(
    *points.T,
    c=np.where(side > 0, "#1f6f8b", "#e8a33d"),
    s=36,
    edgecolor="white",
    linewidth=0.6,
)
panels[0].set(
    title=f"a cut of {cuts.max()} edges", xticks=[], yticks=[], aspect="equal"
)
panels[0].spines[:].set_visible(False)
panels[1].hist(
    cuts,
    bins=np.arange(cuts.min(), cuts.max() + 2) - 0.5,
    color="#1f6f8b",
    rwidth=0.85,
)
panels[1].margins(y=0.25)
top = panels[1].get_ylim()[1] * 0.97
panels[1].axvline(bound, color="#d03030")
panels[1].text(
    bound,
    top,
    "proven bound  ",
    color="#d03030",
    ha="right",
    va="top",
    fontsize=9,
)
panels[1].axvline(len(i) / 2, color="0.6", linestyle=":")
panels[1].text(
    len(i) / 2, top, "  half of the edges", color="0.4", va="top", fontsize=9
)
panels[1].set(title="500 random hyperplanes", xlabel="edges cut", yticks=[])
panels[1].spines["left"].set_visible(False)
plt.show()
