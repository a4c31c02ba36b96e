"""
A metric on the features of a frozen network
============================================

A network that has learned to tell some classes apart gives features for others that it has never seen. A distance
between such features, (x − y)ᵀM(x − y), the squared length of Z(x − y), is learned from a few samples of the new
classes, by a loss of one line. :class:`~psdopt.FunctionProblem` differentiates it, and the certificate proves that no
other metric, of any rank, has a smaller loss. With PyTorch or JAX the line is the same: ``backend="torch"`` or
``"jax"``.
"""

import autograd.numpy as np
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from psdopt import FunctionProblem, solve

rng = np.random.default_rng(0)
X, y = load_digits(return_X_y=True)
old = y < 5
network = MLPClassifier((40,), max_iter=500, random_state=0, alpha=1e-2)
network.fit(X[old] / 16, y[old])


def features(images):
    """The hidden layer of the network, which is never changed."""
    hidden = images / 16 @ network.coefs_[0] + network.intercepts_[0]
    return np.maximum(hidden, 0.0)


# %%
# The digits 5 to 9 are new: eight samples of each are labelled. Pairs of one class should be near, others far.
new = np.flatnonzero(~old)
shots = np.concatenate(
    [rng.choice(new[y[new] == c], 8, replace=False) for c in range(5, 10)]
)
Z, labels = features(X[shots]), y[shots]
i, j = np.triu_indices(len(shots), 1)
E = Z[i] - Z[j]
E /= np.sqrt(np.mean(np.sum(E**2, axis=1)))
sign = np.where(labels[i] == labels[j], 1.0, -1.0)
weight = np.where(sign > 0, 0.5 / np.sum(sign > 0), 0.5 / np.sum(sign < 0))


def loss(Y):
    """Logistic loss of d - 3 for pairs of one class, and of 3 - d for others."""
    d = np.sum((E @ Y) ** 2, axis=1)
    return np.sum(weight * np.logaddexp(0.0, sign * (d - 3.0))) + 1e-3 * np.sum(
        Y**2
    )


problem = FunctionProblem(loss, Z.shape[1], of="factor", convex=True)
result = solve(problem)
print(result)

# %%
# Three nearest neighbours among the forty labelled samples, before and after.
rest = np.setdiff1d(new, shots)
Y = result.matrix.factor


def share(map_of):
    neighbours = KNeighborsClassifier(3).fit(map_of(Z), labels)
    return neighbours.score(map_of(features(X[rest])), y[rest])


before, after = share(lambda V: V), share(lambda V: V @ Y)
print(f"right: {before:.3f} by the features, {after:.3f} by the learned metric")

# %%
# The new digits in the two leading columns of the metric; large: the labelled ones.
figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
frame = np.linalg.svd(Y, full_matrices=False)
plane = frame[0][:, :2] * frame[1][:2]
principal = np.linalg.svd(
    features(X[rest]) - features(X[rest]).mean(axis=0), full_matrices=False
)[2][:2].T
for panel, axes, title in (
    (panels[0], principal, f"principal axes of the features: {before:.0%}"),
    (panels[1], plane, f"leading axes of the metric: {after:.0%}"),
):
    panel.scatter(
        *(features(X[rest]) @ axes).T, c=y[rest], s=8, cmap="tab10", vmin=0
    )
    panel.scatter(
        *(Z @ axes).T, c=labels, s=60, cmap="tab10", vmin=0, edgecolor="black"
    )
    panel.set(title=title, xticks=[], yticks=[])
plt.show()
