"""
Where are the sensors?
======================

Sixty sensors measure the distances to those that are close, with errors of up to two per cent; five of them know their
positions. With G = Z Zᵀ the squared distances are linear in G, and so are the inner products of the known
positions. The problem is a sum of two least squares terms; the exact one has the larger weight.
:class:`~psdopt_plugins.relaxations.SensorLocalization` is an estimator for larger networks.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from psdopt import FlatQuotient, TermSum, solve
from psdopt.terms import Entries, LeastSquares, MeasuredTerm, PairDistances

rng = np.random.default_rng(2)
n, anchors = 60, 5
Z = rng.uniform(-1, 1, (n, 2))
Z[:anchors] = [[-0.8, -0.8], [0.8, -0.8], [0.8, 0.8], [-0.8, 0.8], [0.05, 0.1]]
i, j = np.triu_indices(n, 1)
near = np.linalg.norm(Z[i] - Z[j], axis=1) < 0.65
i, j = i[near], j[near]
measured = np.linalg.norm(Z[i] - Z[j], axis=1) * (
    1 + 0.02 * rng.uniform(-1, 1, len(i))
)
a, b = np.triu_indices(anchors)
problem = TermSum(
    [
        MeasuredTerm(
            PairDistances(i, j, n=n), LeastSquares(measured**2), 1 / len(i)
        ),
        MeasuredTerm(
            Entries(a, b, n),
            LeastSquares((Z[a] * Z[b]).sum(axis=1)),
            10 / len(a),
        ),
    ]
)
wide = solve(problem, tol=1e-5)
print(wide)

# %%
# Without a rank limit the problem is convex, and its minimum is proven. The first two principal axes of the answer are
# the start in the plane. The result is rotated so that the anchors match their positions.
values, vectors = wide.matrix.eigh()
first = np.argsort(-values)[:2]
print("eigenvalues of G:", np.sort(values)[::-1][:4].round(3))
plane = solve(
    problem,
    FlatQuotient(n, 2),
    start=vectors[:, first] * np.sqrt(values[first]),
)
print(plane.status.label)
found = plane.matrix.factor
U, _, Vt = np.linalg.svd(found[:anchors].T @ Z[:anchors])
found = found @ U @ Vt
error = np.linalg.norm(found - Z, axis=1)
print(
    f"position error: median {np.median(error):.3f}, largest {error.max():.3f}"
)

# %%
# Grey lines are measured distances. Red lines join true positions with those found. The two sensors in the corner have
# too few measurements: their mirror image fits as well.
figure, panel = plt.subplots(figsize=(5.6, 5.4), layout="constrained")
panel.add_collection(
    LineCollection(
        np.stack([Z[i], Z[j]], axis=1), colors="0.91", linewidths=0.6, zorder=0
    )
)
panel.add_collection(
    LineCollection(
        np.stack([Z, found], axis=1), colors="#d03030", linewidths=1.4, zorder=1
    )
)
panel.scatter(
    *Z[anchors:].T,
    s=70,
    facecolor="none",
    edgecolor="0.3",
    linewidth=1.1,
    label="true position",
)
dots = panel.scatter(
    *found[anchors:].T,
    s=24,
    c=error[anchors:],
    cmap="viridis",
    zorder=2,
    label="found",
)
panel.scatter(
    *Z[:anchors].T,
    s=90,
    marker="s",
    color="#e8a33d",
    edgecolor="0.2",
    zorder=3,
    label="anchor",
)
panel.set(xticks=[], yticks=[], aspect="equal")
panel.spines[:].set_visible(False)
panel.legend(loc="upper center", bbox_to_anchor=(0.5, 1.07), ncols=3)
figure.colorbar(dots, ax=panel, shrink=0.6, label="position error")
plt.show()
