"""
A certificate that fails, and the way out
=========================================

With a bound on the rank a problem can have local minima. A run that ends in one is *stationary*: no small move of
the factor lowers F. The certificate examines S = ∇F(M): if S has a negative eigenvalue, F falls along its eigenvector
once the factor has one more column. With ``escape=True`` this column is added and the run continues.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from psdopt import ConjugateGradient, FlatQuotient, TermSum, solve
from psdopt.terms import LeastSquares, MeasuredTerm, PairDistances

rng = np.random.default_rng(0)
places = np.stack(np.meshgrid(np.arange(8), np.arange(8)), axis=-1).reshape(
    -1, 2
) + 0.2 * rng.standard_normal((64, 2))
i, j = np.triu_indices(64, 1)
near = np.linalg.norm(places[i] - places[j], axis=1) < 2.3
i, j = i[near], j[near]
squared = ((places[i] - places[j]) ** 2).sum(axis=1)
problem = TermSum(
    [MeasuredTerm(PairDistances(i, j, n=64), LeastSquares(squared), 1 / len(i))]
)

# %%
# Places on a jittered grid, of which only distances to close neighbours are known. From a random start in the plane
# the sheet ends up crumpled.
plane, start = FlatQuotient(64, 2), rng.standard_normal((64, 2))
stuck = solve(problem, plane, ConjugateGradient(), start=start)
print(stuck.message)
print(
    f"F = {stuck.value:.3f}, λ_min(S) = {stuck.certificate.smallest_eigenvalue:.3f}"
)

# %%
# λ_min(S) < 0: F falls in the third dimension. The run with ``escape=True`` reaches F = 0, and from the two principal
# axes of its answer a run in the plane reaches F = 0 as well.
free = solve(problem, plane, ConjugateGradient(), start=start, escape=True)
print(free)
values, vectors = free.matrix.eigh()
first = np.argsort(-values)[:2]
flat = solve(
    problem,
    plane,
    ConjugateGradient(),
    start=vectors[:, first] * np.sqrt(values[first]),
)
print(flat)

# %%
# From left to right: the point that the certificate rejects, the one that it accepts, and F per iteration.
figure, panels = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
for panel, result, title in [
    (panels[0], stuck, "rank 2: stationary"),
    (panels[1], flat, "after the escape: optimal"),
]:
    Z = result.matrix.factor
    panel.add_collection(
        LineCollection(
            np.stack([Z[i], Z[j]], axis=1),
            colors="0.8",
            linewidths=0.6,
            zorder=0,
        )
    )
    panel.scatter(
        Z[:, 0],
        Z[:, 1],
        c=places.sum(axis=1),
        cmap="Spectral",
        s=34,
        edgecolor="white",
        linewidth=0.5,
    )
    panel.set(title=title, xticks=[], yticks=[], aspect="equal")
    panel.spines[:].set_visible(False)
panels[2].semilogy(free.history["value"], color="#1f6f8b", label="with escape")
panels[2].semilogy(stuck.history["value"], color="#d03030", label="rank 2")
panels[2].set(title="F(M)", xlabel="iteration", xscale="log")
panels[2].legend()
plt.show()
