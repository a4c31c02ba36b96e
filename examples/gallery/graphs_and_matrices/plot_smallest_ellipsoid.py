"""
The smallest ellipsoid around points
====================================

Points p_i are lifted to q_i = (p_i, 1). The ellipsoid of least volume with its
centre at 0 that holds all q_i,

    min −log det M,   q_iᵀ M q_i ≤ 1,

meets the plane of the points in the ellipsoid of least volume around them, with
its centre where it has to be. Only few points touch it: those with a multiplier
above zero.
"""

import matplotlib.pyplot as plt
import numpy as np

from psdopt import Constrained, TermSum, constraints, solve
from psdopt.terms import LogDet

rng = np.random.default_rng(2)
turn = np.array([[2.0, 0.0], [1.2, 0.6]])
points = rng.standard_t(4.0, (300, 2)) @ turn.T + [3.0, -1.0]
Q = np.column_stack([points, np.ones(len(points))])

result = solve(
    Constrained(
        TermSum([LogDet(3)]), constraints.quadratic_forms(Q, upper=1.0)
    ),
    tol=1e-9,
)
print(result)
M = result.matrix.to_dense()
# qᵀMq ≤ 1 is (p − centre)ᵀ E (p − centre) ≤ 1
centre = -np.linalg.solve(M[:2, :2], M[:2, 2])
E = M[:2, :2] / (1.0 - M[2, 2] - M[:2, 2] @ centre)
area = np.pi / np.sqrt(np.linalg.det(E))
print(f"centre {centre.round(4)}, area {area:.6f}")
inside = np.einsum("ij,jk,ik->i", points - centre, E, points - centre)
print(f"largest (p − c)ᵀE(p − c): {inside.max():.9f}")
touching = result.certificate.constraints.multipliers > 1e-4
print(f"{touching.sum()} of {len(points)} points touch it")

# %%
# The ellipse of the same shape as the covariance must be larger.
spread = np.linalg.inv(np.cov(points.T))
middle = points.mean(axis=0)
reach = np.einsum("ij,jk,ik->i", points - middle, spread, points - middle).max()
wider = np.pi * reach / np.sqrt(np.linalg.det(spread))
print(f"by the covariance: area {wider:.2f}")


def outline(form, about):
    """The curve (p − about)ᵀ form (p − about) = 1."""
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = np.vstack([np.cos(angle), np.sin(angle)])
    return about[:, None] + np.linalg.solve(np.linalg.cholesky(form).T, circle)


figure, axes = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
axes.plot(*points.T, ".", color="0.6", markersize=4)
axes.plot(*points[touching].T, "o", color="#d03030", label="touching points")
axes.plot(*outline(E, centre), color="#1f6f8b", label="least area")
axes.plot(
    *outline(spread / reach, middle),
    "--",
    color="0.4",
    label="by the covariance",
)
axes.set(title="Ellipses around 300 points", aspect="equal")
axes.legend()
plt.show()
