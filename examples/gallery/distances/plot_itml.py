"""
LogDet steps from a prior: ITML
===============================

ITML finds the matrix closest to a prior, here I, in the LogDet divergence tr M − log det M − n, subject to an upper
bound on distances of similar pairs and a lower bound on distances of dissimilar pairs. Violations of the bounds are
penalised. With squared penalties F is smooth and convex on the positive definite matrices, and a dozen lines of
NumPy state the whole problem. The divergence is a barrier: M keeps full rank, however few the pairs.
"""

import autograd.numpy as anp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from psdopt import AutogradProblem, PositiveDefinite, solve

iris = load_iris()
X = StandardScaler().fit_transform(iris.data)
rng = np.random.default_rng(0)
pairs = rng.choice(150, (400, 2))
pairs = pairs[pairs[:, 0] != pairs[:, 1]]
alike = iris.target[pairs[:, 0]] == iris.target[pairs[:, 1]]
train, test = slice(0, 60), slice(60, None)
D = X[pairs[train, 0]] - X[pairs[train, 1]]
near, far = np.percentile(
    np.sum((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2, axis=1), [15, 60]
)


def problem(weight):
    def F(M):
        distance = anp.sum((D @ M) * D, axis=1)
        excess = anp.where(
            alike[train],
            anp.maximum(0.0, distance - near),
            anp.maximum(0.0, far - distance),
        )
        return (
            anp.trace(M)
            - anp.linalg.slogdet(M)[1]
            + weight * anp.mean(excess**2)
        )

    return AutogradProblem(F, 4, convex=True)


# %%
# From the prior to the data: the weight of the bounds decides how far M leaves the identity. `PositiveDefinite` keeps
# M inside the cone; its affine-invariant metric makes the steps independent of the units of the features.
weights = np.logspace(-2, 1, 7)
runs = [
    solve(problem(w), PositiveDefinite(4, metric="affine-invariant"), tol=1e-6)
    for w in weights
]
ends = [
    np.sum(
        ((X[pairs[test, 0]] - X[pairs[test, 1]]) @ run.matrix.factor) ** 2,
        axis=1,
    )
    for run in runs
]
prior = np.sum((X[pairs[test, 0]] - X[pairs[test, 1]]) ** 2, axis=1)


def ranked(distance):
    """Share of couples (similar, dissimilar) whose similar pair is nearer."""
    return float(
        np.mean(distance[alike[test]][:, None] < distance[~alike[test]])
    )


print(f"Euclidean: {100 * ranked(prior):.1f} % of test couples in order")
for weight, run, distance in zip(weights, runs, ends, strict=True):
    print(
        f"weight {weight:7.2f}: {100 * ranked(distance):.1f} %,",
        f"{run.status.label} after {run.iterations} steps",
    )

# %%
# Eigenvalues of M leave 1 as the bounds gain weight, and none reaches 0; test pairs before and after.
figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
spectra = np.array([np.linalg.eigvalsh(run.matrix.to_dense()) for run in runs])
panels[0].loglog(weights, spectra, marker="o", markersize=4, color="#3f7f93")
panels[0].axhline(1.0, color="0.6", linewidth=0.8, linestyle="--")
panels[0].set(
    xlabel="weight of the bounds",
    ylabel="eigenvalues of M",
    title="From the prior I to the data",
)
best = int(np.argmax([ranked(distance) for distance in ends]))
for offset, distance in enumerate([prior, ends[best]]):
    for label, group, colour in [
        ("similar", alike[test], "#3f7f93"),
        ("dissimilar", ~alike[test], "#c8553d"),
    ]:
        scaled = distance[group] / np.median(distance)
        height = offset + 0.3 * rng.random(group.sum())
        panels[1].scatter(
            scaled,
            height,
            s=10,
            c=colour,
            alpha=0.7,
            label=label if offset == 0 else None,
        )
panels[1].set(
    xscale="log", yticks=[0.15, 1.15], yticklabels=["Euclidean", "learned"]
)
panels[1].set(
    xlabel="squared distance of a test pair / median",
    title=f"Weight {weights[best]:.3g}",
)
panels[1].legend(loc="center left", frameon=False)
plt.show()
