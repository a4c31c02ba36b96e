"""
How much a network can amplify: LipSDP
======================================

A network with one hidden layer, f(x) = aᵀ relu(W x + b), changes by at most L times the distance of x and y. The
product of the norms of its layers is a bound on L, usually a poor one. The semidefinite program of Fazlyab and others
(2019) bounds L far better, because it knows that each relu has a slope between 0 and 1. In its dual form
M = [[P, Q], [Qᵀ, R]] ⪰ 0 holds the products of a change of the input with those of the hidden units:

    L² = max aᵀR a,  tr P = 1,  R_ii ≤ (W Q)_ii for each unit i.

The multipliers of the constraints prove the bound, whatever the rounding of the solver.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.neural_network import MLPRegressor

from psdopt import Constrained, QuadraticSDP, constraints, solve

X, y = load_diabetes(return_X_y=True, scaled=False)
X = (X - X.mean(axis=0)) / X.std(axis=0)
y = (y - y.mean()) / y.std()
net = MLPRegressor(
    hidden_layer_sizes=(24,),
    solver="lbfgs",
    alpha=1.0,
    max_iter=5000,
    random_state=0,
).fit(X, y)
W, a = net.coefs_[0].T, net.coefs_[1][:, 0]
(units, inputs), n = W.shape, sum(W.shape)

# %%
# Entries of M: one constraint on the trace of P, and one for each unit, with a row of W beside the diagonal.
C = np.zeros((n, n))
C[inputs:, inputs:] = -0.5 * np.outer(a, a)  # QuadraticSDP is 2 tr(C M)
rows = []
for i in range(units):
    A, unit = np.zeros((n, n)), inputs + i
    A[:inputs, unit] = A[unit, :inputs] = 0.5 * W[i]
    A[unit, unit] = -1.0
    rows.append(A)
P = np.diag(np.r_[np.ones(inputs), np.zeros(units)])
problem = Constrained(
    QuadraticSDP(C=C),
    [
        constraints.sparse_forms([P], 1.0),
        constraints.sparse_forms(rows, lower=0.0),
    ],
)
result = solve(problem)
print(result)
bound = np.sqrt(-result.certificate.dual_value)
product = np.linalg.norm(a) * np.linalg.norm(W, 2)

# %%
# From below: the network is linear near a point, and its gradient there is Wᵀ(a where the unit is on).
rng = np.random.default_rng(0)
points = np.r_[X, 3.0 * rng.standard_normal((20000, inputs))]
on = points @ W.T + net.intercepts_[0] > 0.0
slopes = np.linalg.norm((on * a) @ W, axis=1)
print(
    f"largest slope seen {slopes.max():.2f}, proven bound {bound:.2f},",
    f"product of norms {product:.2f}",
)

# %%
# Slopes at random points: the bound is close to what the network does, the product of norms is not.
figure, panel = plt.subplots(figsize=(8, 4), layout="constrained")
panel.hist(slopes, bins=60, color="#1f6f8b")
for at, text, color in (
    (bound, "proven bound  ", "#d03030"),
    (product, "product of norms  ", "0.4"),
):
    panel.axvline(at, color=color)
    panel.text(at, 0.95 * panel.get_ylim()[1], text, color=color, ha="right")
panel.set(xlabel="slope of the network", yticks=[])
panel.spines["left"].set_visible(False)
plt.show()
