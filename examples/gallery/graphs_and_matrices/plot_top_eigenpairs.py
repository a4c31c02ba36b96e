"""
Top eigenpairs of an operator
=============================

The k leading eigenpairs of a symmetric K are the answer to min ‖M − K‖² over rank M ≤ k. K enters as an operator,
and nothing of size n × n is formed: here K = XᵀX / m for sparse X.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from psdopt_plugins.spectral import TopKEigen

rng = np.random.default_rng(0)
X = sp.random_array((3000, 1000), density=0.01, rng=rng) @ sp.diags_array(
    np.arange(1, 1001) ** -0.5
)
K = sp.linalg.aslinearoperator(X.T @ X)
model = TopKEigen(k=12).fit(K)
print(model.eigenvalues_.round(3))

# %%
# The eigenvalues, compared with those of a dense solver.
exact = np.linalg.eigvalsh((X.T @ X).toarray())[::-1][:12]
fig, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.semilogy(exact, "o", mfc="none", label="dense eigensolver")
axes.semilogy(model.eigenvalues_, "+", label="psdopt, products only")
axes.set(xlabel="index", ylabel="eigenvalue")
axes.legend()
plt.show()
