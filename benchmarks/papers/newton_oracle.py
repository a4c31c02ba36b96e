"""Leading eigenvector by Hessian-free Newton steps on |v vᵀ − A|²/4 (Hao et al., algorithm 2).

The paper's oracle of BILGO. It restarts its Krylov space at every Newton step and takes several times the products of
block Lanczos, which keeps it (table 4). The library does without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from psdopt.linalg import EPS, Array

#: Krylov steps per Newton system.
INNER_STEPS = 30
#: Power steps for the size of A, from which the shift is taken.
POWER_STEPS = 6
#: A shift of this multiple of the estimated |A| makes the leading eigenvalue positive.
SHIFT = 1.5

#: (A products of directions so far) -> direction d and A d.
Product = Callable[[Array], Array]


class NewtonPair(NamedTuple):
    """vᵀS v, the unit v (n,) and the columns of products with S that it took."""

    value: float
    vector: Array
    products: int


def newton_least(
    S: Any, *, inner: str = "lanczos", tol: float = 0.0, start: Array | None = None, seed: int = 0
) -> NewtonPair:
    """The smallest eigenpair of S (n, n): :func:`newton_leading` of −S, and a product with S for the value."""
    negative = _Negative(S)
    guess = None if start is None else np.asarray(start, dtype=float).reshape(len(start), -1)[:, 0]
    v = newton_leading(negative, inner=inner, tol=tol, start=guess, seed=seed)
    value = -float(v @ (negative @ v[:, None])[:, 0])
    return NewtonPair(value, v, negative.products)


class _Negative:
    """−S, counting columns."""

    def __init__(self, S: Any) -> None:
        self.S, self.shape, self.products = S, S.shape, 0

    def __matmul__(self, X: Array) -> Array:
        self.products += X.shape[1]
        return -np.asarray(self.S @ X)


def newton_leading(
    A: Any,
    *,
    inner: str = "lanczos",
    tol: float = 0.0,
    start: Array | None = None,
    max_products: int = 5000,
    seed: int = 0,
) -> Array:
    """Unit v (n,) near the leading eigenvector of the symmetric operator A.

    f(v) = |v vᵀ − A|²/4 has gradient |v|²v − Av and Hessian 2vvᵀ + |v|²I − A; its only local minima are
    ±√λ₁ u₁ if λ₁ > 0. Each Newton system is solved in a Krylov space, by truncated conjugate gradients
    (`inner` = "cg", stopped by negative curvature) or by Lanczos with orthogonalisation ("lanczos", which
    takes the most negative direction of the projected Hessian when there is one). The step along the
    direction is the best positive one, wherever it lies; the paper's 0 < mu < 1 misses it.

    Where λ₁ <= 0, as at an optimum of min F(M), the minimiser of f is 0 and says nothing: A is then shifted
    by a multiple of its size, estimated by six power steps.

    Stops when |Av − θv| <= tol with θ = vᵀAv, |v| = 1. Cost: one product per Krylov step.
    """
    n = int(A.shape[0])
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(n) if start is None or not np.any(start) else np.array(start, dtype=float).reshape(n)
    v /= np.linalg.norm(v)
    spent: int = 0
    size: float = 0.0
    shift: float = 0.0

    def apply(x: Array) -> Array:
        nonlocal spent
        spent += 1
        return np.asarray(A @ x.reshape(-1, 1), dtype=float)[:, 0] + shift * x

    Av = apply(v)
    size = float(np.linalg.norm(Av))
    if not v @ Av > 0.1 * size:  # the sign of λ₁ is in doubt
        x = rng.standard_normal(n)
        for _ in range(POWER_STEPS):
            x = apply(x / np.linalg.norm(x))
            size = max(size, float(np.linalg.norm(x)))
        shift = SHIFT * size
        Av = Av + shift * v
    rounding = 4.0 * math.sqrt(n) * EPS
    while True:
        unit = float(np.linalg.norm(v))
        theta = float(v @ Av) / unit**2
        size = max(size, abs(theta))
        residual = float(np.linalg.norm(Av - theta * v)) / unit
        if residual <= max(tol, rounding * size) or spent >= max_products:
            return np.asarray(v / unit)
        scale = math.sqrt(max(theta, EPS * size)) / unit  # the best multiple of v: exact, no product
        v, Av = scale * v, scale * Av
        g = (v @ v) * v - Av
        steps = min(INNER_STEPS, max_products - spent)
        solver = _lanczos_direction if inner == "lanczos" else _cg_direction
        d, Ad = solver(apply, v, g, steps)
        if not g @ d < 0.0:
            d, Ad = -g, -apply(g)
        mu = _best_positive_step(_quartic(v, Av, d, Ad))
        if mu == 0.0:
            return np.asarray(v / np.linalg.norm(v))
        v, Av = v + mu * d, Av + mu * Ad


def _quartic(v: Array, Av: Array, d: Array, Ad: Array) -> Array:
    """Coefficients of f(v + mu d) without the constant |A|²/4."""
    a, b, c = float(v @ v), float(v @ d), float(d @ d)
    return np.array(
        [
            0.25 * (a * a - 2.0 * float(v @ Av)),
            a * b - float(d @ Av),
            0.5 * (a * c + 2.0 * b * b - float(d @ Ad)),
            b * c,
            0.25 * c * c,
        ]
    )


def _best_positive_step(coefficients: Array) -> float:
    """The mu > 0 of least value of a quartic that grows at infinity; 0 where none is below mu = 0."""
    polynomial = np.polynomial.Polynomial([0.0, *coefficients[1:]])
    roots = polynomial.deriv().roots()
    steps = [float(root.real) for root in np.atleast_1d(roots) if abs(root.imag) <= 1e-8 * abs(root) and root.real > 0]
    best = min(steps, key=polynomial, default=0.0)
    return best if polynomial(best) < 0.0 else 0.0


def _forcing(size: float, scale: float) -> float:
    """Accuracy of the Newton system, relative: superlinear convergence, no more."""
    return min(0.1, math.sqrt(size / scale)) if scale > 0.0 else 0.1


def _cg_direction(apply: Product, v: Array, g: Array, steps: int) -> tuple[Array, Array]:
    """Truncated CG on H d = −g; the last iterate (or −g) when H shows negative curvature."""
    vv, size = float(v @ v), float(np.linalg.norm(g))
    target = _forcing(size, float(np.linalg.norm(v)) ** 3) * size
    d, Ad = np.zeros_like(g), np.zeros_like(g)
    r, p = -g, -g
    for k in range(max(steps, 1)):
        Ap = apply(p)
        Hp = 2.0 * float(v @ p) * v + vv * p - Ap
        curvature = float(p @ Hp)
        if curvature <= 0.0:
            return (p, Ap) if k == 0 else (d, Ad)
        a = float(r @ r) / curvature
        d, Ad = d + a * p, Ad + a * Ap
        old = float(r @ r)
        r = r - a * Hp
        if float(np.linalg.norm(r)) <= target:
            break
        p = r + float(r @ r) / old * p
    return d, Ad


def _lanczos_direction(apply: Product, v: Array, g: Array, steps: int) -> tuple[Array, Array]:
    """Best direction in the Krylov space of the Hessian at g, from the projected Hessian; orthogonalised twice."""
    size = float(np.linalg.norm(g))
    target = _forcing(size, float(np.linalg.norm(v)) ** 3) * size
    n, vv = len(v), float(v @ v)
    Q, AQ = np.empty((n, steps + 1)), np.empty((n, steps + 1))
    q = g / size
    T = np.zeros((steps + 1, steps + 1))
    for k in range(max(steps, 1)):
        Q[:, k], AQ[:, k] = q, apply(q)
        Hq = 2.0 * float(v @ q) * v + vv * q - AQ[:, k]
        T[: k + 1, k] = Q[:, : k + 1].T @ Hq
        T[k, : k + 1] = T[: k + 1, k]
        w = Hq - Q[:, : k + 1] @ T[: k + 1, k]
        w -= Q[:, : k + 1] @ (Q[:, : k + 1].T @ w)
        beta = float(np.linalg.norm(w))
        done = beta <= EPS * abs(T[0, 0]) or k == steps - 1
        if done or k % 4 == 3:
            y, values = _reduced(T[: k + 1, : k + 1], size)
            if done or (values > 0.0 and beta * abs(y[-1]) <= target):
                break
        q = w / beta
    return Q[:, : k + 1] @ y, AQ[:, : k + 1] @ y


def _reduced(T: Array, size: float) -> tuple[Array, float]:
    """−T⁻¹ (size e₁), or the eigenvector of the least eigenvalue, downhill, if that is not positive."""
    values, W = scipy.linalg.eigh(T)
    if values[0] <= 0.0:
        direction = W[:, 0] * (-1.0 if W[0, 0] > 0.0 else 1.0)
        return direction, float(values[0])
    return -W @ ((W[0] * size) / values), float(values[0])
