"""Extending an embedding of fitted samples to new samples: ridge regression on the base kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from psdopt.linalg import Array

#: Ridge relative to the mean eigenvalue of the centred kernel. Held-out 3-NN errors on iris and wine change by less
#: than a sample in a hundred between 1e-3 and 1e-1.
RIDGE = 1e-2


@dataclass(frozen=True)
class KernelExtension:
    """x ↦ Wᵀ k(x), W = (K + ridge I)⁻¹ G with the centred base kernel K (n, n) and the embedding G (n, r).

    k(x) (n,) is the base kernel of x and the fitted samples, centred as K was. For a linear kernel this is a linear map
    of x, so that the learned kernel extends to that of a Mahalanobis metric.
    """

    weights: Array
    means: Array

    @classmethod
    def of(cls, K: Array, means: Array, embedding: Array) -> Self:
        """From the centred K, the means (n,) of the columns of the kernel before centring, and G. O(n³)."""
        n = len(K)
        ridge = RIDGE * max(float(np.trace(K)) / n, np.finfo(float).tiny)
        return cls(np.asarray(np.linalg.solve(K + ridge * np.eye(n), embedding), dtype=np.float64), means)

    def places(self, rows: Array) -> Array:
        """Positions (q, r) for rows (q, n) of the base kernel, not centred. O(q n r)."""
        centred = rows - rows.mean(axis=1)[:, None] - self.means + self.means.mean()
        return np.asarray(centred @ self.weights)
