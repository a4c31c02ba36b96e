"""Random cone programs with an optimum, and what a pair (x, y) has to meet there."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from psdopt.interop._cone_program import ConeProgram


def random_cone_program(seed: int, quadratic: bool = False, unknowns: int = 5) -> ConeProgram:
    """Strictly feasible on both sides: one equation, three inequalities, blocks of orders 3 and 2."""
    rng, definite = np.random.default_rng(seed), 2.0 * np.eye(5) + 0.1 * np.ones((5, 5))
    A = sp.csr_array(rng.standard_normal((13, unknowns)))
    return with_optimum(rng, A, (1, 3, (3, 2)), (definite, definite), quadratic)


def program_of_any_sizes(seed: int, quadratic: bool = False) -> ConeProgram:
    """Strictly feasible on both sides: sparse, with one block or two, with or without equations and inequalities."""
    rng = np.random.default_rng(seed)
    psd = tuple(int(k) for k in rng.integers(1, 5, size=rng.integers(1, 3)))
    zero, nonneg = int(rng.integers(0, 3)), int(rng.integers(0, 4))
    shape = zero + nonneg + sum(k * (k + 1) // 2 for k in psd), int(rng.integers(zero + 1, zero + 7))
    A = sp.csr_array(np.where(rng.random(shape) < 0.6, rng.standard_normal(shape), 0.0))
    definite = [G @ G.T + 0.1 * np.eye(sum(psd)) for G in rng.standard_normal((2, sum(psd), sum(psd)))]
    return with_optimum(rng, A, (zero, nonneg, psd), definite, quadratic)


def with_optimum(
    rng: np.random.Generator, A: sp.csr_array, cones: tuple[int, int, tuple[int, ...]],
    definite: Sequence[np.ndarray], quadratic: bool,
) -> ConeProgram:  # fmt: skip
    """The program of :func:`with_pair`."""
    return with_pair(rng, A, cones, definite, quadratic)[0]


def with_pair(
    rng: np.random.Generator, A: sp.csr_array, cones: tuple[int, int, tuple[int, ...]],
    definite: Sequence[np.ndarray], quadratic: bool,
) -> tuple[ConeProgram, np.ndarray, np.ndarray]:  # fmt: skip
    """c and b for which a random x is feasible and a y too, with blocks of two definite matrices; and this x and y.

    P is of rank 2, or None.
    """
    zero, nonneg, _ = cones
    i, j = ConeProgram(np.zeros(A.shape[1]), None, A, np.zeros(A.shape[0]), *cones).places()
    s = np.concatenate([np.zeros(zero), 0.1 + rng.random(nonneg), definite[0][i, j]])
    y = np.concatenate(
        [rng.standard_normal(zero), 0.1 + rng.random(nonneg), np.where(i == j, 1.0, 2.0) * definite[1][i, j]]
    )
    return _with_slack(rng, A, cones, s, y, quadratic)


def known_optimum(seed: int, quadratic: bool = False) -> tuple[ConeProgram, np.ndarray, np.ndarray]:
    """A dense program of any sizes with an optimal x and y: complementary slacks and multipliers of random ranks.

    The last inequality bounds the trace of the blocks, so that multipliers with a rounded S prove a bound.
    """
    rng = np.random.default_rng(seed)
    psd = tuple(int(k) for k in rng.integers(2, 6, size=rng.integers(1, 3)))
    zero, nonneg = int(rng.integers(0, 3)), int(rng.integers(0, 4))
    unknowns, first = int(rng.integers(zero + 2, zero + 5)), zero + nonneg + 1
    A = rng.standard_normal((first + sum(k * (k + 1) // 2 for k in psd), unknowns))
    tight = rng.random(nonneg) < 0.5
    s = [np.zeros(zero), np.where(tight, 0.0, 0.1 + rng.random(nonneg)), np.ones(1)]
    y = [rng.standard_normal(zero), np.where(tight, 0.1 + rng.random(nonneg), 0.0), np.zeros(1)]
    for k in psd:
        Q, r = np.linalg.qr(rng.standard_normal((k, k)))[0], int(rng.integers(1, k))
        d = 0.1 + rng.random(k)
        column, row = np.triu_indices(k)
        s.append(((Q[:, :r] * d[:r]) @ Q[:, :r].T)[row, column])
        y.append(np.where(row == column, 1.0, 2.0) * ((Q[:, r:] * d[r:]) @ Q[:, r:].T)[row, column])
    diagonal = np.concatenate([np.equal(*np.triu_indices(k)) for k in psd])
    A[first - 1] = -A[first:][diagonal].sum(axis=0)
    A, nonneg = sp.csr_array(A), nonneg + 1
    return _with_slack(rng, A, (zero, nonneg, psd), np.concatenate(s), np.concatenate(y), quadratic)


def _with_slack(
    rng: np.random.Generator, A: sp.csr_array, cones: tuple[int, int, tuple[int, ...]], s: np.ndarray, y: np.ndarray,
    quadratic: bool,
) -> tuple[ConeProgram, np.ndarray, np.ndarray]:  # fmt: skip
    x, P = rng.standard_normal(A.shape[1]), None
    c = -A.T @ y
    if quadratic:
        G = rng.standard_normal((2, len(x)))
        P = sp.csr_array(G.T @ G)
        c = c - P @ x
    return ConeProgram(c, P, A, A @ x + s, *cones), x, y


def slack_matrix(program: ConeProgram, entries: np.ndarray, halved: bool = False) -> np.ndarray:
    """The symmetric matrix of the PSD rows; `halved`: of multipliers, whose entries beside the diagonal count twice."""
    i, j = program.places()
    S = np.zeros((sum(program.psd), sum(program.psd)))
    S[i, j] = S[j, i] = np.where(i == j, 1.0, 0.5 if halved else 1.0) * entries
    return S


def defects(program: ConeProgram, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Of the primal cones, the dual cones, stationarity and the gap; all zero at an optimum."""
    s = program.b - program.A @ x
    first, psd = program.zero, program.first_psd
    dual = np.linalg.eigvalsh(slack_matrix(program, y[psd:], halved=True))[0]
    quadratic = 0.0 if program.P is None else 0.5 * float(x @ (program.P @ x))
    return {
        "equations": float(np.abs(s[:first]).max(initial=0.0)),
        "inequalities": float(-min(s[first:psd].min(initial=0.0), 0.0)),
        "slack": float(-min(np.linalg.eigvalsh(slack_matrix(program, s[psd:]))[0], 0.0)),
        "multipliers": float(-min(y[first:psd].min(initial=0.0), dual, 0.0)),
        "stationarity": float(np.abs(program.gradient(x) + program.A.T @ y).max()),
        "gap": abs(program.value(x) + float(program.b @ y) + quadratic),
    }


def refuted(program: ConeProgram, y: np.ndarray | None) -> float:
    """How far y (R,) is from a proof that no x is feasible: Aᵀy = 0, bᵀy = −1, y in the dual cones; relative to |y|."""
    first, psd = program.zero, program.first_psd
    least = np.linalg.eigvalsh(slack_matrix(program, y[psd:], halved=True))[0] if sum(program.psd) else 0.0
    wrong = (np.abs(program.A.T @ y).max(), -min(y[first:psd].min(initial=0.0), least), abs(program.b @ y + 1.0))
    return float(max(wrong) / max(np.abs(y).max(), 1.0))


def falls(program: ConeProgram, x: np.ndarray | None) -> float:
    """How far x (N,) is from a ray: P x = 0, cᵀx = −1, −A x in the cones; relative to |x|."""
    s = -(program.A @ x)
    first, psd = program.zero, program.first_psd
    least = np.linalg.eigvalsh(slack_matrix(program, s[psd:]))[0] if sum(program.psd) else 0.0
    curved = 0.0 if program.P is None else np.abs(program.P @ x).max()
    wrong = (np.abs(s[:first]).max(initial=0.0), -min(s[first:psd].min(initial=0.0), least), curved)
    return float(max(*wrong, abs(program.c @ x + 1.0)) / max(np.abs(x).max(), 1.0))
