"""
One problem, four methods
=========================

Problem, geometry and method are chosen independently. Four methods solve the same problem, the distances between
100 points under noise with a penalty on the trace: on a factor of M by conjugate gradient, by L-BFGS and by the
plain gradient, and by atoms on the cone.
"""

import matplotlib.pyplot as plt
import numpy as np

from psdopt import (
    BILGO,
    LBFGS,
    ConjugateGradient,
    FlatQuotient,
    PSDCone,
    TermSum,
    compatible,
    solve,
)
from psdopt.terms import (
    IdentityForm,
    LeastSquares,
    LinearTerm,
    MeasuredTerm,
    PairDistances,
)

rng = np.random.default_rng(0)
Z = rng.standard_normal((100, 3)) * [3, 2, 1]
i, j = np.triu_indices(100, 1)
chosen = rng.random(len(i)) < 0.3
i, j = i[chosen], j[chosen]
squared = ((Z[i] - Z[j]) ** 2).sum(axis=1) * rng.uniform(0.9, 1.1, len(i))
problem = TermSum(
    [
        MeasuredTerm(
            PairDistances(i, j, n=100), LeastSquares(squared), 1 / len(i)
        ),
        LinearTerm(IdentityForm(100), 0.01),
    ]
)
factors = FlatQuotient(100, 20)
pairs = {
    "conjugate gradient": (factors, ConjugateGradient()),
    "L-BFGS": (factors, LBFGS()),
    "gradient": (factors, ConjugateGradient("none", preconditioner="none")),
    "BILGO (atoms)": (PSDCone(100), BILGO()),
}
results = {}
for name, (geometry, method) in pairs.items():
    if compatible(problem, geometry, method):
        results[name] = solve(problem, geometry, method, max_iterations=600)
    print(
        f"{name:20s} {results[name].status.label:16s}",
        f"F = {results[name].value:.8f}, rank {results[name].rank}",
    )

# %%
# All reach the same value. The certificate of a run that is proven optimal bounds its distance from the minimum.
best = min(results.values(), key=lambda result: result.value)
print(
    f"proven: F − min F <= {best.certificate.gap:.1e}"
    if best.optimal
    else best.message
)
figure, panel = plt.subplots(figsize=(7, 3.9), layout="constrained")
for (name, result), colour in zip(
    results.items(), ["#1f6f8b", "#e8a33d", "0.6", "#d03030"], strict=True
):
    above = result.history["value"] - best.value
    panel.loglog(above[above > 1e-6], color=colour, linewidth=1.8, label=name)
panel.set(xlabel="iteration", ylabel="F(M) above the lowest value found")
panel.legend(loc="lower left")
plt.show()
