"""Multipliers that prove a signal to be the solution of PhaseLift: S = I − Σ y_t a_t a_t* ⪰ 0 with S z = 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from psdopt.linalg import EPS, Array
from psdopt_plugins.limits import MINOR, MOST_STEPS, SLIGHT


def phase_multipliers(X: Any, z: Any) -> Array | None:
    """y (m,) with I − Σ y_t x_t* x_t ⪰ 0, singular at z, for the rows x_t of X (m, n); None where none is found.

    Up to a scale, S = δ I + Σ_t c_t x_t* x_t; S z = 0 leaves c in m − 2n + 1 dimensions. The shortest c has its
    largest entries, negative ones, where |x_t z| is large, and S is then indefinite up to m ≈ 14 n. For complex
    Gaussian rows of E|x z|² = 1 and c_t = (g_t − 1)/m, g > 0, the spectrum of S on z⊥ begins at 1 + δ − n/m − E 1/g or
    above, where S z = 0 says E g |x z|² = 1 − δ. That is largest for g = 1/|x z| and δ = 1 − E|x z|: 2 δ − n/m, which
    is positive for m > 4.4 n, as E|x z| = √π/2. So δ is taken from the data, and g is the minimiser of Σ 1/g_t under
    S z = 0. Few eigenvalues of S are then negative, by chance; they are set to a slight part of δ by further equations,
    until two rounds in a row bring the lowest no nearer to zero, or equations determine g.

    Rows need not be Gaussian: what is found is checked by :func:`psdopt.certify`. Cost: five to twenty systems of order
    2n, 4 m n² flops each, and a few decompositions of order n.
    """
    n = X.shape[1]
    if not np.any(z):
        return np.zeros(len(X))  # tr H >= 0
    z = z / np.linalg.norm(z)
    lengths = np.linalg.norm(X, axis=1)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    X = X / lengths[:, None]  # x_t H x_t* = b_t says the same of any multiple of x_t
    products = X @ z
    squares = np.abs(products) ** 2
    if not squares.any():
        return None
    mean = float(squares.mean())
    theta = len(X) * mean  # Σ x_t* x_t is near θ I on average
    delta = max(1.0 - float(np.sqrt(squares / mean).mean()), MINOR)  # 0 where all squares are equal
    rows = (X.conj() * products[:, None]).T / theta
    A = np.concatenate([rows.real, rows.imag])
    b = A.sum(axis=1) - delta * np.concatenate([z.real, z.imag])
    g = np.sqrt(mean / np.maximum(squares, MINOR * mean))
    best, waited = -np.inf, 0
    while len(A) < len(X) and waited < 2:
        found = _balanced(A, b, g)
        if found is None:
            return None
        g = found
        S = (X.conj().T * ((g - 1.0) / theta)) @ X
        S[np.diag_indices(n)] += delta
        values, vectors = eigh(S, subset_by_value=[-np.inf, SLIGHT**2 * delta])
        lowest = float(values.min(initial=0.0))
        if lowest >= -n * EPS * float(np.abs(S).sum(axis=1).max()):
            return np.asarray((1.0 - g) / (theta * delta * lengths**2))
        best, waited = max(best, lowest), 0 if lowest > best else waited + 1
        # z itself has the eigenvalue zero
        low = vectors[:, np.abs(vectors.conj().T @ z) < 0.5]
        forms = (np.abs(X @ low) ** 2).T / theta
        A, b = np.concatenate([A, forms]), np.concatenate([b, forms.sum(axis=1) - (1.0 - SLIGHT) * delta])
    return None


def _balanced(A: Array, b: Array, g: Array) -> Array | None:
    """The g (m,) > 0 that minimises Σ 1/g_t subject to A g = b, by Newton steps from any g > 0.

    The last step is a whole one, after which A g = b, and slight beside g.
    """
    for _ in range(MOST_STEPS):
        gradient, inverse = -1.0 / g**2, 0.5 * g**3
        scaled = A * inverse
        system = scaled @ A.T
        system[np.diag_indices_from(system)] += EPS**0.75 * float(np.trace(system)) / len(system)
        try:
            multipliers = cho_solve(cho_factor(system, overwrite_a=True), b - A @ g + scaled @ gradient)
        except LinAlgError:
            return None
        step = (A.T @ multipliers - gradient) * inverse
        share = min(1.0, (1.0 - SLIGHT) / max(float(np.max(-step / g)), EPS))
        g = g + share * step
        if share == 1.0 and np.linalg.norm(step / g) <= SLIGHT * np.sqrt(len(g)):
            return g
    return None
