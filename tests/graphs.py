"""Random graphs for tests of constrained programs."""

import numpy as np
import scipy.sparse as sp


def random_laplacian(n: int, seed: int = 0) -> sp.csr_array:
    """L = D − A (n, n) of a graph with about three edges per vertex, of weight 1."""
    rng = np.random.default_rng(seed)
    A = sp.triu(sp.random(n, n, density=min(1.0, 6 / n), random_state=rng), 1, format="csr")
    A.data[:] = 1.0
    A = A + A.T
    return sp.csr_array(sp.diags_array(np.asarray(A.sum(axis=0)).ravel()) - A)
