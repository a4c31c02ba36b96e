"""Multipliers that prove a signal to be the solution of PhaseLift: S = I − Σ y_t a_t a_t* ⪰ 0 with S z = 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from psdopt.linalg import EPS, Array

#: What S has of I, next to Σ f_t a_t a_t* of about the size of I: more would be less of what makes S definite.
IDENTITY = 0.05
#: Eigenvalues of S / θ that are lifted, and the value that they get.
LOW, LIFTED = 1e-3, 5e-3
#: Rounds of lifting, the most eigenvectors lifted in one, and Newton steps of a round.
ROUNDS, MOST, STEPS = 8, 20, 12
#: A step goes at most so far towards g_t = 0, and ends the round where it changes g by less than this share.
SHORT, ENOUGH = 0.05, 1e-2


def phase_multipliers(X: Any, z: Any) -> Array | None:
    """y (m,) with I − Σ y_t x_t* x_t ⪰ 0, singular at z, for the rows x_t of X (m, n); None where none is found.

    S = Σ_t c_t x_t* x_t + I with S z = 0 leaves c_t = −y_t open in m − 2n + 1 dimensions. The shortest c has its
    largest entries, negative ones, where |x_t z| is large, and S is then indefinite up to m ≈ 14 n. Chosen is the
    c_t = g_t − 1, times a scale, that minimises Σ 1/g_t over g > 0: for complex Gaussian rows the lower edge of the
    spectrum of Σ f_t x_t* x_t / m, f independent of the rows on z⊥, is the largest value over w of
    E f/(1 + w f) − n/(m w), and E[1/(1 + w f)] is least, at E f |x z|² = 0, for 1 + w f in proportion to 1/|x z|. Few
    eigenvalues of S are then negative; they are set to small positive numbers by further equations, round by round.

    Rows need not be Gaussian: what is found is checked by :func:`psdopt.certify`. Cost: ten to twenty systems of order
    2n, 4 m n² flops each, and a few decompositions of order n.
    """
    n = X.shape[1]
    if not np.any(z):
        return np.zeros(len(X))  # tr H >= 0
    lengths = np.linalg.norm(X, axis=1)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    X = X / lengths[:, None]  # x_t H x_t* = b_t says the same of any multiple of x_t
    products = X @ z
    squares = np.abs(products) ** 2
    if not squares.any():
        return None
    theta = float(squares.sum() / np.vdot(z, z).real)  # Σ x_t* x_t is near θ I on average
    rows = (X.conj() * products[:, None]).T / theta
    A, z_parts = np.concatenate([rows.real, rows.imag]), np.concatenate([z.real, z.imag])
    b = A.sum(axis=1) - IDENTITY * z_parts
    sizes = np.sqrt(np.maximum(squares, LOW * squares.mean()))
    g = squares.mean() / sizes.mean() / sizes
    for _ in range(ROUNDS):
        found = _balanced(A, b, g)
        if found is None:
            return None
        g = found
        S = (X.conj().T * ((g - 1.0) / theta)) @ X
        S[np.diag_indices(n)] += IDENTITY
        values, vectors = eigh(S, subset_by_index=[0, min(n - 1, MOST)])
        if values[0] >= -n * EPS * float(np.abs(S).sum(axis=1).max()):
            return np.asarray((1.0 - g) / (theta * IDENTITY * lengths**2))
        # z itself has the eigenvalue zero
        low = (values < LOW) & (np.abs(vectors.conj().T @ z) < 0.5 * np.linalg.norm(z))
        forms = (np.abs(X @ vectors[:, low]) ** 2).T / theta
        A, b = np.concatenate([A, forms]), np.concatenate([b, forms.sum(axis=1) + LIFTED - IDENTITY])
    return None


def _balanced(A: Array, b: Array, g: Array) -> Array | None:
    """The g (m,) > 0 that minimises Σ 1/g_t subject to A g = b, by Newton steps from any g > 0."""
    for _ in range(STEPS):
        gradient, inverse = -1.0 / g**2, 0.5 * g**3
        scaled = A * inverse
        system = scaled @ A.T
        system[np.diag_indices_from(system)] += EPS**0.75 * float(np.trace(system)) / len(system)
        try:
            multipliers = cho_solve(cho_factor(system, overwrite_a=True), b - A @ g + scaled @ gradient)
        except LinAlgError:
            return None
        step = (A.T @ multipliers - gradient) * inverse
        share = min(1.0, (1.0 - SHORT) / max(float(np.max(-step / g)), EPS))
        g = g + share * step
        if share == 1.0 and np.linalg.norm(step / g) <= ENOUGH * np.sqrt(len(g)):
            return g
    return None
