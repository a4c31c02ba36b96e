"""Small baselines for kernel learning from pairs: the printed loop, SimpleNPKL, MFPC, and a conic model."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from benchmarks.papers.data import Array
from benchmarks.papers.pair_sets import GAMMA, pattern
from psdopt import EntryFit


def loop_iteration(
    L: sp.csr_array,
    neighbours: list[Array],
    targets: list[Array],
    rho: float,
    V: Array,
    U: Array,
    Lam: Array,
    woodbury: bool = True,
) -> tuple[Array, Array, Array]:
    """One iteration of algorithm 1, pattern by pattern, two passes, all V then all U; V, U, Lam (n, r).

    With `woodbury` by (25), without it by the (r, r) systems of line 6.
    """
    new_V, new_U = np.empty_like(V), np.empty_like(U)
    for block, other, sign in ((new_V, U, -1.0), (new_U, new_V, 1.0)):
        for i in range(len(V)):
            P = other[neighbours[i]]
            entries = slice(L.indptr[i], L.indptr[i + 1])
            coupled = L.data[entries] @ other[L.indices[entries]]
            c = GAMMA * targets[i] @ P - coupled + rho * other[i] + sign * Lam[i]
            if not woodbury:
                block[i] = np.linalg.solve(rho * np.eye(V.shape[1]) + GAMMA * P.T @ P, c)
                continue
            inverse = np.linalg.inv(rho / GAMMA * np.eye(len(P)) + P @ P.T)
            block[i] = (c - P.T @ (inverse @ (P @ c))) / rho
    return new_V, new_U, Lam + rho * (new_V - new_U)


def simple_npkl(
    problem: EntryFit, L: sp.csr_array, B: float, tol: float = 1e-7, max_iterations: int = 200
) -> tuple[Array, int]:
    """max over Z of −√B |(−L − Z)₊| − ⟨Z, T⟩ − |Z|²/(2γ): SimpleNPKL for the quadratic loss, tr(K K) <= B.

    K = √B (−L − Z)₊ / |·| in closed form, one eigendecomposition (n, n) per value; L-BFGS over the multipliers of
    the pattern. Where B does not bind, the dual optimum has −L − Z ⪯ 0 and the closed form says nothing: the last
    K that is not zero is taken. Returns (embedding, evaluations).
    """
    dense, (rows, columns, targets) = L.toarray(), pattern(problem)
    found: dict[str, Array] = {}

    def negative_dual(z: Array) -> tuple[float, Array]:
        A = -dense.copy()
        A[rows, columns] -= z
        values, vectors = np.linalg.eigh(0.5 * (A + A.T))
        positive = np.maximum(values, 0.0)
        size = np.linalg.norm(positive)
        scaled = positive * (np.sqrt(B) / size if size > 0.0 else 0.0)
        E = vectors * np.sqrt(scaled)
        E = E[:, scaled > 1e-9 * max(scaled.max(), 1e-300)]
        if E.shape[1]:
            found["E"] = E
        K = np.einsum("ij,ij->i", E[rows], E[columns])
        return float(np.sqrt(B) * size + z @ targets + z @ z / (2 * GAMMA)), targets - K + z / GAMMA

    # z = γ (K − T) at K = 0 is where the multipliers of the unconstrained problem start
    result = minimize(
        negative_dual,
        -GAMMA * targets,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iterations, "ftol": tol * 1e-2, "gtol": 1e-6},
    )
    negative_dual(result.x)
    return found["E"], int(result.nfev)


def mfpc(problem: EntryFit, L: sp.csr_array, r: int, iterations: int = 500) -> tuple[Array, float]:
    """K = Q U Qᵀ, Q the r trailing eigenvectors of L, U ⪰ 0 (r, r) by accelerated projected gradient.

    Returns (embedding, value).
    """
    if r < L.shape[0] // 2:
        shifted = sp.csc_array(L) + 1e-3 * sp.eye_array(L.shape[0], format="csc")
        values, Q = sp.linalg.eigsh(shifted, k=r, sigma=0.0)
        values = values - 1e-3
    else:
        values, Q = np.linalg.eigh(L.toarray())
        values, Q = values[:r], Q[:, :r]
    rows, columns, targets = pattern(problem)

    def residual(U: Array) -> Array:
        products: Array = np.einsum("ij,ij->i", (Q @ U)[rows], Q[columns])
        return products - targets

    U = old = np.zeros((r, r))
    momentum = 1.0
    for _ in range(iterations):
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        X = U + (momentum - 1.0) / faster * (U - old)
        R = sp.csr_array(sp.coo_array((GAMMA * residual(X), (rows, columns)), shape=L.shape))
        G = np.diag(values) + Q.T @ (R @ Q)
        w, vectors = np.linalg.eigh(X - G / GAMMA)  # the Hessian is γ times a projection of the pattern
        old, U, momentum = U, (vectors * np.maximum(w, 0.0)) @ vectors.T, faster
    w, vectors = np.linalg.eigh(U)
    E = Q @ (vectors * np.sqrt(np.maximum(w, 0.0)))
    value = float(values @ np.diag(U)) + 0.5 * GAMMA * float(np.sum(residual(U) ** 2))
    return E[:, w > 1e-9 * max(w.max(), 1e-300)], value


def conic(problem: EntryFit, L: sp.csr_array, solver: str, accuracy: float | None = None) -> tuple[float, float]:
    """The same problem through cvxpy, as a user runs it: model, compilation and solver.

    `accuracy` None is the solver's default. Returns (value, CPU seconds in all).
    """
    cvxpy: Any = import_module("cvxpy")
    clock = time.process_time()
    rows, columns, targets = pattern(problem)
    K = cvxpy.Variable(L.shape, PSD=True)
    loss = cvxpy.sum_squares(K[rows, columns] - targets)
    model = cvxpy.Problem(cvxpy.Minimize(cvxpy.trace(L @ K) + 0.5 * GAMMA * loss))
    keys = ("eps",) if solver == "SCS" else ("tol_gap_rel", "tol_feas")
    options = {} if accuracy is None else dict.fromkeys(keys, accuracy)
    model.solve(solver=solver, **options)
    return float(model.value), time.process_time() - clock
