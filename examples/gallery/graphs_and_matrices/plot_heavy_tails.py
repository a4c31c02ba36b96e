"""
A covariance model with a likelihood of its own
===============================================

Few factors move many series, and every series has noise of its own: the covariance is M + D with M of low rank. The
shocks have heavy tails, so that the likelihood is Student's instead of Gauss's. It is two lines of NumPy, which
:class:`~psdopt.FunctionProblem` differentiates; where the likelihood is not convex, the certificate says so.
"""

import autograd.numpy as np
import matplotlib.pyplot as plt

from psdopt import FlatQuotient, FunctionProblem, certify, solve

rng = np.random.default_rng(3)
n, r, m, nu = 30, 3, 150, 3.0
true = rng.standard_normal((n, r))
noise = rng.uniform(0.5, 1.5, n)
shocks = true @ rng.standard_normal((r, m))
shocks += np.sqrt(noise)[:, None] * rng.standard_normal((n, m))
X = shocks / np.sqrt(rng.chisquare(nu, m) / nu)


def student(M):
    """Mean negative log-likelihood of Student's t with nu degrees of freedom."""
    S = M + np.diag(noise)
    distances = np.sum(X * np.linalg.solve(S, X), axis=0)
    tails = 0.5 * (nu + n) * np.mean(np.log1p(distances / nu))
    return 0.5 * np.linalg.slogdet(S)[1] + tails


def gauss(M):
    """The same of a normal distribution."""
    S = M + np.diag(noise)
    return 0.5 * np.linalg.slogdet(S)[1] + 0.5 * np.mean(
        np.sum(X * np.linalg.solve(S, X), axis=0)
    )


found = {
    name: solve(FunctionProblem(line, n), FlatQuotient(n, r))
    for name, line in (("Student", student), ("Gauss", gauss))
}
for name, result in found.items():
    error = np.linalg.norm(result.matrix.to_dense() - true @ true.T)
    print(
        f"{name}: {result.status.name.lower()} after {result.iterations} steps,",
        f"error of M {error / np.linalg.norm(true @ true.T):.2f}",
    )

# %%
# Neither is convex in the covariance. To say so all the same, by ``convex=True``, does not make a proof: the
# certificate looks for segments of the cone along which F bends down, and finds one.
claimed = certify(
    FunctionProblem(student, n, convex=True), found["Student"].matrix
)
print(
    f"convex: {claimed.convex}, curvature found: {claimed.negative_curvature:.2g}"
)

# %%
# Entries of M against the truth: a few samples far out spoil the Gaussian estimate.
figure, panels = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
truth = true @ true.T
reach = 1.1 * np.abs(truth).max()
for panel, (name, result) in zip(panels, found.items(), strict=True):
    panel.axline((0, 0), slope=1, color="0.7")
    panel.scatter(
        truth.ravel(), result.matrix.to_dense().ravel(), s=6, color="#1f6f8b"
    )
    panel.set(
        title=f"{name}'s likelihood",
        xlabel="entries of the true M",
        xlim=(-reach, reach),
        ylim=(-2 * reach, 2 * reach),
    )
panels[0].set_ylabel("estimated")
plt.show()
