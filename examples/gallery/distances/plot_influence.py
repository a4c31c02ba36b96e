"""
Which pairs made this metric
============================

A metric is learned from pairs of samples that someone called similar or dissimilar, and some of these calls are wrong.
The derivative of a validation loss by the weight of each pair says which pairs to look at first. It needs no new fit:
one linear system on the factor of M gives the derivatives by all weights together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from psdopt_plugins.metric_learning import DistanceRegression

wine = load_wine()
X, y = StandardScaler().fit_transform(wine.data), wine.target
rng = np.random.default_rng(0)
order = rng.permutation(len(y))
train, validation = order[:120], order[120:]


def drawn(samples, count):
    """Pairs (count, 2) of these samples, and whether they are of one cultivar."""
    i, j = np.triu_indices(len(samples), 1)
    chosen = rng.permutation(len(i))[:count]
    pairs = np.column_stack([samples[i], samples[j]])[chosen]
    return pairs, y[pairs[:, 0]] == y[pairs[:, 1]]


# %%
# 600 training pairs, of which every twelfth has the wrong sign.
pairs, alike = drawn(train, 600)
wrong = np.arange(len(pairs)) % 12 == 0
signs = np.where(alike ^ wrong, 1, -1)
model = DistanceRegression(solver_options={"tol": 1e-6})
model.fit(X, pairs=np.column_stack([pairs, signs]))
print(model.result_)

# %%
# The validation loss is that of the fit on pairs of other wines, of which only the mean and its derivative by M are
# needed: a pair that misses its bound by v adds v² to the loss and 2 v d dᵀ to the derivative, d = x − z.
held, same = drawn(validation, 400)
D = X[held[:, 0]] - X[held[:, 1]]
upper, lower = model.bounds_


def loss_and_derivative(M):
    distances = np.einsum("ti,ij,tj->t", D, M, D)
    missed = np.where(
        same,
        np.maximum(0.0, distances - upper),
        np.minimum(0.0, distances - lower),
    )
    return np.mean(missed**2), (D.T * (2.0 * missed / len(D))) @ D


before, dM = loss_and_derivative(model.get_mahalanobis_matrix())
influence = model.influence(X, dM)
listed = wrong[np.argsort(-influence)]
print(f"validation loss {before:.1f}")
print(f"wrong pairs among the 50 of largest influence: {listed[:50].sum()}")

# %%
# Left out, the pairs of largest influence change the loss as the derivative says, and more than chance does.
for count in (10, 25, 50, 100):
    worst = np.argsort(-influence)[:count]
    any_pairs = rng.permutation(len(pairs))[:count]
    losses = []
    for left_out in (worst, any_pairs):
        kept = np.setdiff1d(np.arange(len(pairs)), left_out)
        again = DistanceRegression(
            bounds=model.bounds_, solver_options={"tol": 1e-6}
        )
        again.fit(X, pairs=np.column_stack([pairs, signs])[kept])
        M = again.get_mahalanobis_matrix()
        losses.append(loss_and_derivative(M)[0])
    print(
        f"without {count:3d}: {losses[0]:.1f}; "
        f"without {count} at random: {losses[1]:.1f}"
    )

figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
panels[0].plot(np.cumsum(listed), color="#7b1e3a", label="by influence")
panels[0].plot(
    [0, len(pairs)], [0, wrong.sum()], color="#888888", label="at random"
)
panels[0].set(xlabel="pairs looked at", ylabel="wrong pairs found")
panels[0].legend(frameon=False)
bins = np.linspace(*np.quantile(influence, [0.005, 0.995]), 40)
for chosen, colour, name in (
    (~wrong, "#3f7f93", "right"),
    (wrong, "#7b1e3a", "wrong"),
):
    panels[1].hist(
        influence[chosen],
        bins,
        density=True,
        alpha=0.6,
        color=colour,
        label=name,
    )
panels[1].set(xlabel="influence on the validation loss", yticks=[])
panels[1].legend(frameon=False)
plt.show()
