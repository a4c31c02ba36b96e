"""
Neighbourhood components: a loss of your own
============================================

NCA learns the distance under which a sample is most likely to pick a neighbour of its own class:
maximise Σ_i p_i, where sample i picks j with probability proportional to exp(−d_M(i, j)) and p_i is its chance of
picking its own class. F is not convex in M, so no method can prove a global optimum, and psdopt does not claim one: the
status is at best *stationary*. The estimator :class:`~psdopt_plugins.metric_learning.NCA` lists near
neighbours only, for large data. The pieces also
compose by hand. What is new is one loss of the squared distances, with its gradient and its curvature.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.neighbors import (
    KNeighborsClassifier,
    NeighborhoodComponentsAnalysis,
)
from sklearn.preprocessing import StandardScaler

from psdopt import FlatQuotient, LowRankPSD, TermSum, solve
from psdopt.terms import Loss, MeasuredTerm, PairDistances


class NeighbourhoodComponents(Loss):
    """phi(a) = −(1/n) Σ_i Σ_{j alike} exp(−d_ij) / Σ_{k ≠ i} exp(−d_ik).

    a holds the distances d of all pairs i < j.
    """

    convex = separable = False

    def __init__(self, y):
        self.n, self.alike = len(y), y[:, None] == y
        self.pairs = np.triu_indices(self.n, 1)

    def square(self, a):
        D = np.zeros((self.n, self.n))
        D[self.pairs] = a
        return D + D.T

    def chances(self, a):
        logits = -self.square(a)
        np.fill_diagonal(logits, -np.inf)
        P = np.exp(logits - logits.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        return P, self.alike - np.sum(P * self.alike, axis=1, keepdims=True)

    def of_pairs(self, G):
        return (G + G.T)[self.pairs] / self.n

    def value(self, a):
        return -float(np.sum(self.chances(a)[0] * self.alike)) / self.n

    def derivative(self, a):
        P, excess = self.chances(a)
        return self.of_pairs(P * excess)

    def curvature(self, a, direction):
        P, excess = self.chances(a)
        u = -self.square(direction)
        change = P * (u - np.sum(P * u, axis=1, keepdims=True))
        return self.of_pairs(
            change * excess
            - P * np.sum(change * self.alike, axis=1, keepdims=True)
        )


# %%
# Two columns, begun at the two principal components.
wine = load_wine()
train, test, y, y_test = train_test_split(
    wine.data, wine.target, test_size=0.4, stratify=wine.target, random_state=0
)
scaler = StandardScaler().fit(train)
X, X_test = scaler.transform(train), scaler.transform(test)
loss = NeighbourhoodComponents(y)
problem = TermSum([MeasuredTerm(PairDistances(*loss.pairs, X), loss)])
start = LowRankPSD(np.linalg.svd(X)[2][:2].T)
result = solve(problem, FlatQuotient(13, 2), start=start, tol=1e-5)
print(result)

# %%
# No chance exceeds 1, so F is at least −1, and here the value itself is the proof that the certificate cannot give: the
# two columns separate the training wines. scikit-learn's own NCA, begun at the same place, gets there, too.
theirs = NeighborhoodComponentsAnalysis(
    2, init=start.factor.T, max_iter=200
).fit(X, y)
maps = {
    "principal components": start.factor,
    "psdopt": result.matrix.factor,
    "scikit-learn": theirs.components_.T,
}
figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
colours = np.array(["#7b1e3a", "#d4a017", "#3f7f93"])
for panel, (name, L) in zip(panels, maps.items(), strict=True):
    chance = -problem.at(L).value
    score = KNeighborsClassifier(3).fit(X @ L, y).score(X_test @ L, y_test)
    print(
        f"{name:21s} mean chance of the own class {chance:.4f},",
        f"3-NN on {len(y_test)} test wines {100 * score:.1f} %",
    )
    panel.scatter(
        *(X_test @ L).T,
        s=32,
        c=colours[y_test],
        edgecolor="white",
        linewidth=0.6,
    )
    panel.set(
        title=f"{name}\n3-NN on test wines: {100 * score:.1f} %",
        xticks=[],
        yticks=[],
    )
    panel.set_box_aspect(1)
plt.show()
