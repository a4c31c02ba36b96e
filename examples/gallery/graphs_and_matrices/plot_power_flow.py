"""
Cheapest power on a ring of five buses
======================================

Voltages v of an electric grid are complex, and powers are products of them: linear in the Hermitian matrix H = v v*.
Without the demand that H has rank one, the cheapest way to serve all loads is a semidefinite program, whose bound
holds for every operation of the grid. If its solution has rank one all the same, it is the cheapest operation itself,
with proof: see :doc:`/applications/hermitian` for Hermitian matrices, and :doc:`/guide/constraints` for larger grids.
"""

import matplotlib.pyplot as plt
import numpy as np

from psdopt import Constrained, TermSum, constraints, solve
from psdopt.terms import LinearTerm, hermitian_form

# %%
# Lines by resistance and reactance make the admittance Y; currents are ``Y v``. Buses 0 and 3 have generators.
lines = [
    (0, 1, 0.02, 0.10),
    (1, 2, 0.03, 0.12),
    (2, 3, 0.02, 0.09),
    (3, 4, 0.04, 0.15),
    (4, 0, 0.03, 0.11),
]
Y = np.zeros((5, 5), dtype=complex)
for i, j, resistance, reactance in lines:
    y = 1.0 / (resistance + 1j * reactance)
    Y[[i, j], [i, j]] += y
    Y[[i, j], [j, i]] -= y
load = np.array([0.0, 0.6, 0.5, 0.0, 0.4]) + 1j * np.array(
    [0.0, 0.2, 0.15, 0.0, 0.1]
)
most, price = (
    np.array([1.5, 0.0, 0.0, 1.0, 0.0]),
    np.array([1.0, 0.0, 0.0, 1.3, 0.0]),
)

# %%
# Bus k feeds ``v_k conj((Y v)_k)`` into its lines: two Hermitian forms of H, for the active and the reactive power.
seen = [Y.conj().T[:, [k]] * np.eye(5)[k] for k in range(5)]
active = [0.5 * (B + B.conj().T) for B in seen]
reactive = [-0.5j * (B - B.conj().T) for B in seen]
cost = sum(price[k] * active[k] for k in range(5))
problem = Constrained(
    TermSum(
        [LinearTerm(hermitian_form(cost))], constant=float(price @ load.real)
    ),
    [
        constraints.hermitian_forms(
            active, lower=-load.real, upper=most - load.real
        ),
        constraints.hermitian_forms(
            reactive, lower=-load.imag - most, upper=most - load.imag
        ),
        constraints.hermitian_forms(
            [np.diag(e) for e in np.eye(5)], lower=0.95**2, upper=1.05**2
        ),
    ],
)
result = solve(problem)
print(result)

# %%
# H has rank one up to the accuracy of the solver, so that v can be operated; the phase of bus 0 is free.
U, sizes, _ = np.linalg.svd(result.matrix.hermitian(), full_matrices=False)
v = U[:, 0] * sizes[0]
v = v * np.exp(-1j * np.angle(v[0]))
fed = v * (Y @ v).conj() + load
print("eigenvalues of H ", (sizes[:2] ** 2).round(6))
print("produced         ", fed.real.round(4) + 0.0)
print(
    f"cost {price @ fed.real:.6f}, proven least {result.certificate.dual_value:.6f}"
)

# %%
# The ring: sizes of voltages by colour, flows along the lines by width.
at = np.exp(2j * np.pi * np.arange(5) / 5)
figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
for i, j, resistance, reactance in lines:
    flow = (v[i] * ((v[i] - v[j]) / (resistance + 1j * reactance)).conj()).real
    axes.plot(
        at[[i, j]].real,
        at[[i, j]].imag,
        color="0.6",
        lw=1 + 6 * abs(flow),
        zorder=0,
    )
    middle = 0.5 * (at[i] + at[j])
    axes.annotate(
        f"{abs(flow):.2f}", (middle.real, middle.imag), ha="center", va="center"
    )
shown = axes.scatter(
    at.real, at.imag, c=np.abs(v), s=260, cmap="viridis", edgecolors="0.2"
)
for k in range(5):
    axes.annotate(
        str(k),
        (at[k].real, at[k].imag),
        ha="center",
        va="center",
        color="white",
    )
figure.colorbar(shown, label="size of the voltage")
axes.set(title="Flows on the ring", aspect="equal", xticks=[], yticks=[])
plt.show()
