"""
Where to measure: a D-optimal design
====================================

A response y = aᵀθ + noise is measured at points of our choice. With the share
x_i of all measurements at the point with regressors a_i, the volume of the
confidence ellipsoid of θ is least where log det Σ x_i a_i a_iᵀ is largest. The
dual of this problem is the smallest ellipsoid {a : aᵀMa ≤ 1} around all a_i,

    min −log det M,   a_iᵀ M a_i ≤ 1,

with multipliers y_i = k x_i for k parameters. The interior point solves it with
a bound from these multipliers, which is the equivalence theorem of Kiefer and
Wolfowitz with a proof.
"""

import matplotlib.pyplot as plt
import numpy as np

from psdopt import Constrained, TermSum, constraints, solve
from psdopt.terms import LogDet

# a quadratic response surface in two factors, on a disc with one corner cut off
grid = np.linspace(-1.0, 1.0, 25)
u, v = (each.ravel() for each in np.meshgrid(grid, grid))
allowed = (u**2 + v**2 <= 1.0001) & (u + v <= 0.9)
u, v = u[allowed], v[allowed]
A = np.column_stack([np.ones_like(u), u, v, u**2, u * v, v**2])
k = A.shape[1]

result = solve(
    Constrained(
        TermSum([LogDet(k)]), constraints.quadratic_forms(A, upper=1.0)
    ),
    tol=1e-9,
)
print(result)
y = result.certificate.constraints.multipliers
share = y / y.sum()
information = (A.T * share) @ A
value = np.linalg.slogdet(information)[1]
print(f"log det of the information: {value:.6f}")
# F(M) − k log k bounds the log det of every design
efficiency = np.exp((value - (result.value - k * np.log(k))) / k)
print(f"D-efficiency, proven: {efficiency:.8f}")
used = share > 1e-3
print(f"{used.sum()} of {len(u)} points are measured")

# %%
# The variance of the prediction aᵀθ is k where a design measures and below k
# elsewhere, in units of the noise over the number of measurements.
variance = np.einsum("ij,jk,ik->i", A, np.linalg.inv(information), A)
print(f"largest variance of a prediction: {variance.max():.6f} (k = {k})")
figure, axes = plt.subplots(figsize=(5.6, 4.6), layout="constrained")
shown = axes.scatter(u, v, c=variance, cmap="Blues", s=28, marker="s")
axes.scatter(
    u[used], v[used], s=900 * share[used], facecolor="none", edgecolor="#d03030"
)
figure.colorbar(shown, label="variance of the prediction")
axes.set(
    title="D-optimal design: circles by their share",
    xlabel="factor u",
    ylabel="factor v",
    aspect="equal",
)
plt.show()
