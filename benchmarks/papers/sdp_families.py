"""Random semidefinite programs of the families of SDPLIB that graphs do not give, by size and seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import block_diag

from benchmarks.papers.data import Array
from benchmarks.papers.power_flow import power_flow, tiled
from benchmarks.papers.power_networks import THIRTY
from psdopt import Constrained, QuadraticSDP, constraints


def lmi(F0: Array, F: Sequence[Array], c: ArrayLike) -> Constrained:
    """max ⟨F_0, M⟩, ⟨F_t, M⟩ = c_t, M ⪰ 0: the dual of min cᵀx, Σ_t x_t F_t − F_0 ⪰ 0, in which these are written."""
    n = len(F0)
    i, j = np.triu_indices(n)
    twice = np.where(i == j, 1.0, 2.0)
    B = sp.csr_array(np.array([twice * A[i, j] for A in F]))
    used = np.unique(B.indices)
    forms = constraints.SparseForms(i[used], j[used], sp.csr_array(B[:, used]), n)
    return Constrained(QuadraticSDP(C=sp.csr_array(-0.5 * F0)), constraints.sparse_forms(forms, np.asarray(c, float)))


def symmetric_basis(n: int) -> Iterator[Array]:
    """E_ij + E_ji for i < j and E_ii: the coordinates of a symmetric matrix variable."""
    for i, j in zip(*np.triu_indices(n), strict=True):
        E = np.zeros((n, n))
        E[i, j] = E[j, i] = 1.0
        yield E


def diagonal_of(*blocks: Array) -> Array:
    """The block diagonal matrix."""
    return block_diag(*blocks)


def control(n: int, seed: int = 0) -> Constrained:
    """max λ, [−PA − AᵀP − CᵀDC, −PB; −BᵀP, D] ⪰ λ I, P ⪯ I, D diagonal: a system of n states and n inputs."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    A -= (np.linalg.eigvalsh(A + A.T)[-1] + 1.0) * np.eye(n)
    B, C = 0.3 * rng.standard_normal((2, n, n))
    return _controlled(A, B, C, -1.0)


def wide_control(n: int, seed: int = 0) -> Constrained:
    """:func:`control` with P ⪰ I instead, and A, B, C uniform in ±100, the scale of SDPLIB's."""
    A, B, C = np.random.default_rng(seed).uniform(-100.0, 100.0, (3, n, n))
    return _controlled(A, B, C, 1.0)


def shifted_control(n: int, seed: int = 0) -> Constrained:
    """:func:`wide_control` with A − ½ λ_max(A + Aᵀ) I for A, whose symmetric part is then ⪯ 0."""
    A, B, C = np.random.default_rng(seed).uniform(-100.0, 100.0, (3, n, n))
    return _controlled(A - 0.5 * np.linalg.eigvalsh(A + A.T)[-1] * np.eye(n), B, C, 1.0)


def _controlled(A: Array, B: Array, C: Array, sign: float) -> Constrained:
    """max λ, [−PA − AᵀP − CᵀDC, −PB; −BᵀP, D] ⪰ λ I, sign P ⪰ sign I, D diagonal."""
    n = len(A)
    F = [
        diagonal_of(np.block([[-P @ A - A.T @ P, -P @ B], [-B.T @ P, np.zeros((n, n))]]), sign * P)
        for P in symmetric_basis(n)
    ]
    for k in range(n):
        F.append(diagonal_of(-np.outer(C[k], C[k]), np.eye(n)[k : k + 1].T @ np.eye(n)[k : k + 1], np.zeros((n, n))))
    F.append(diagonal_of(-np.eye(2 * n), np.zeros((n, n))))
    F0 = diagonal_of(np.zeros((2 * n, 2 * n)), sign * np.eye(n))
    return lmi(F0, F, [0.0] * (len(F) - 1) + [-1.0])


def hinf(n: int, seed: int = 0) -> Constrained:
    """min γ, [−AᵀP − PA, −PB, −Cᵀ; ·, γ I, −Dᵀ; ·, ·, γ I] ⪰ 0, P ⪰ 0: the H∞ norm of a stable plant of n states."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    A -= (np.linalg.eigvals(A).real.max() + 0.1) * np.eye(n)
    p = max(1, n // 2)
    B, C, D = rng.standard_normal((n, p)), rng.standard_normal((p, n)), rng.standard_normal((p, p))
    none, one = np.zeros((p, p)), np.eye(p)
    F = []
    for P in symmetric_basis(n):
        rows = [[-A.T @ P - P @ A, -P @ B, np.zeros((n, p))], [-B.T @ P, none, none], [np.zeros((p, n)), none, none]]
        F.append(diagonal_of(np.block(rows), P))
    F.append(diagonal_of(np.zeros((n, n)), one, one, np.zeros((n, n))))
    F0 = diagonal_of(
        np.block([[np.zeros((n, n)), np.zeros((n, p)), C.T], [np.zeros((p, n)), none, D.T], [C, D, none]]),
        np.zeros((n, n)),
    )
    return lmi(F0, F, [0.0] * (len(F) - 1) + [1.0])


def bars(n: int, seed: int) -> tuple[Array, Array]:
    """(stiffness b_k b_kᵀ of the bars, load): n × 3 nodes of a plane truss, its first column held."""
    rng = np.random.default_rng(seed)
    nodes = np.array([(x, y) for x in range(n) for y in range(3)], float) + 0.1 * rng.standard_normal((3 * n, 2))
    free = 2 * (3 * n - 3)
    vectors = []
    for a in range(3 * n):
        for b in range(a + 1, 3 * n):
            step = nodes[b] - nodes[a]
            length = np.linalg.norm(step)
            if length < 1.8 and b >= 3:
                v = np.zeros(6 * n)
                v[2 * b : 2 * b + 2], v[2 * a : 2 * a + 2] = step / length**1.5, -step / length**1.5
                vectors.append(v[6:])
    load = np.zeros(free)
    load[-3:] = rng.standard_normal(3)
    return np.array(vectors), load


def truss(n: int, seed: int = 0) -> Constrained:
    """min τ, [τ, fᵀ; f, Σ_k t_k b_k b_kᵀ] ⪰ 0, t >= 0, Σ t_k <= 1: the stiffest truss of a given weight."""
    b, f = bars(n, seed)
    size, m = 1 + len(f), len(b)
    F = []
    for k, v in enumerate(b):
        K, bounds = np.zeros((size, size)), np.zeros(m + 1)
        K[1:, 1:] = np.outer(v, v)
        bounds[k], bounds[m] = 1.0, -1.0
        F.append(diagonal_of(K, np.diag(bounds)))
    T = np.zeros((size, size))
    T[0, 0] = 1.0
    F.append(diagonal_of(T, np.zeros((m + 1, m + 1))))
    L = np.zeros((size, size))
    L[0, 1:] = L[1:, 0] = -f
    F0 = diagonal_of(L, np.diag(np.r_[np.zeros(m), -1.0]))
    return lmi(F0, F, [0.0] * m + [1.0])


def arch(n: int, seed: int = 0) -> Constrained:
    """min Σ l_k t_k, Σ_k t_k b_k b_kᵀ ⪰ ω I, t >= 0: the lightest truss whose lowest frequency is high enough."""
    b, _ = bars(n, seed)
    m = len(b)
    F = [diagonal_of(np.outer(v, v), np.diag(np.eye(m)[k])) for k, v in enumerate(b)]
    F0 = diagonal_of(0.1 * np.eye(b.shape[1]), np.zeros((m, m)))
    return lmi(F0, F, 1.0 / np.einsum("ki,ki->k", b, b))


def qap(k: int, seed: int = 0) -> Constrained:
    """The relaxation of a quadratic assignment of k facilities: arrow, block sums, and the sums of rows and columns."""
    rng = np.random.default_rng(seed)
    n = k * k + 1
    flow, distance = (np.triu(rng.integers(0, 6, (k, k)), 1) for _ in range(2))
    C = np.zeros((n, n))
    C[1:, 1:] = np.kron(distance + distance.T, flow + flow.T)
    F, c = [], []

    def add(A: Array, value: float) -> None:
        F.append(0.5 * (A + A.T))
        c.append(value)

    corner = np.zeros((n, n))
    corner[0, 0] = 1.0
    add(corner, 1.0)
    for a in range(1, n):
        A = np.zeros((n, n))
        A[a, a], A[0, a] = 1.0, -1.0
        add(A, 0.0)
    for p in range(k):
        for q in range(p, k):
            E = np.zeros((k, k))
            E[p, q] = 1.0
            for inside in (np.kron(np.eye(k), E), np.kron(E, np.eye(k))):
                A = np.zeros((n, n))
                A[1:, 1:] = inside
                add(A, float(p == q))
    off = np.zeros((n, n))
    for p in range(k):
        for line in (np.kron(np.eye(k)[p], np.ones(k)), np.kron(np.ones(k), np.eye(k)[p])):
            v = np.r_[-1.0, line]
            off += np.outer(v, v)
    add(off, 0.0)
    return lmi(-C, F, c)


def box(n: int, seed: int = 0) -> Constrained:
    """min ⟨Q, M⟩, M_ii + s_i = 1, s >= 0, Q a random sparse matrix: a box under a quadratic, as in qpG."""
    rng = np.random.default_rng(seed)
    Q = sp.triu(sp.random(n, n, density=min(1.0, 8.0 / n), random_state=rng, data_rvs=rng.standard_normal))
    C = sp.csr_array(sp.block_diag([sp.csr_array(Q + Q.T), sp.csr_array((n, n))]))
    i = np.arange(2 * n)
    B = sp.csr_array(sp.hstack([sp.eye_array(n), sp.eye_array(n)]))
    return Constrained(
        QuadraticSDP(C=0.5 * C), constraints.sparse_forms(constraints.SparseForms(i, i, B, 2 * n), np.ones(n))
    )


def signed_cut(n: int, seed: int = 0) -> Constrained:
    """min ⟨W, M⟩, M_ii = 1, W with Gaussian weights along the edges of a random graph of degree 8."""
    rng = np.random.default_rng(seed)
    W = sp.triu(sp.random(n, n, density=min(1.0, 8.0 / n), random_state=rng, data_rvs=rng.standard_normal), 1)
    return Constrained(QuadraticSDP(C=sp.csr_array(0.5 * (W + W.T))), constraints.diagonal(n, 1.0))


def grid_theta(n: int, seed: int = 0) -> Constrained:
    """Lovász's number of a torus of 10 × n/10 vertices with a few random chords, as thetaG."""
    at, rng = np.arange(n).reshape(10, -1), np.random.default_rng(seed)
    pairs = {
        tuple(sorted(pair))
        for axis in (0, 1)
        for pair in zip(at.ravel(), np.roll(at, 1, axis=axis).ravel(), strict=True)
    }
    pairs |= {tuple(sorted(rng.choice(n, 2, replace=False))) for _ in range(n // 4)}
    i, j = np.array(sorted(pairs)).T
    groups = [constraints.trace(n, 1.0), constraints.entries(i, j, n, 0.0)]
    return Constrained(QuadraticSDP(C=-0.5 * np.ones((n, n))), groups)


def infeasible(n: int, seed: int = 0) -> Constrained:
    """No M: Σ_t y_t A_t ⪰ 0 for a y with Σ_t y_t b_t < 0."""
    F, c, rng = _random_program(n, seed)
    y = rng.standard_normal(len(F) - 1)
    G = rng.standard_normal((n, n))
    F[-1] = G @ G.T - sum(v * A for v, A in zip(y, F[:-1], strict=True))
    c[-1] = -1.0 - y @ c[:-1]
    return lmi(rng.standard_normal() * np.eye(n), F, c)


def unbounded(n: int, seed: int = 0) -> Constrained:
    """A feasible M, and N ⪰ 0 with A(N) = 0 along which the objective falls for ever."""
    F, _, rng = _random_program(n, seed)
    G = rng.standard_normal((n, 2))
    N = G @ G.T
    F = [A - np.sum(A * N) / np.sum(N * N) * N for A in F]
    H = rng.standard_normal((n, n))
    M = H @ H.T
    F0 = rng.standard_normal((n, n))
    F0 += F0.T
    F0 += (1.0 - np.sum(F0 * N) / np.sum(N * N)) * N
    return lmi(F0, F, [np.sum(A * M) for A in F])


def _random_program(n: int, seed: int) -> tuple[list[Array], Array, np.random.Generator]:
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, n, n))
    return list(F + F.transpose(0, 2, 1)), rng.standard_normal(n), rng


#: By the name of the option; sizes are states, columns of nodes, facilities or orders.
PROGRAMS: dict[str, Callable[..., Constrained]] = {
    "control": control,
    "wide_control": wide_control,
    "shifted_control": shifted_control,
    "hinf": hinf,
    "truss": truss,
    "arch": arch,
    "qap": qap,
    "box": box,
    "signed_cut": signed_cut,
    "grid_theta": grid_theta,
    "power_flow": lambda n, seed=0: power_flow(tiled(THIRTY, n, seed)),
    "infeasible": infeasible,
    "unbounded": unbounded,
}
