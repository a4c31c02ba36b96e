"""Peers on the KTA cost: SciPy L-BFGS-B, plain and in scaled coordinates, and pymanopt, from the same start."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.papers.race import Curve, Meter, run_peer


class KTACost:
    """|Y Yᵀ − I|² + lam |X Y YᵀXᵀ − L Lᵀ|² with hand-written gradient and Hessian; one product with XᵀX each.

    `product` maps Y to XᵀX Y: with the Gram matrix where psdopt uses it too, else with X and Xᵀ.
    """

    def __init__(self, product: Callable[[np.ndarray], np.ndarray], Z: np.ndarray, lam: float, constant: float) -> None:
        self.product, self.Z, self.lam, self.constant = product, Z, lam, constant
        self._at: np.ndarray | None = None
        self._state: tuple[np.ndarray, ...] = ()
        self._value = np.nan

    def evaluate(self, Y: np.ndarray, meter: Meter) -> float:
        """The cost; what the gradient needs is kept for the same Y."""
        if self._at is None or self._at.shape != Y.shape or not np.array_equal(self._at, Y):
            KY = self.product(Y)
            P, Q, T = Y.T @ KY, Y.T @ Y, self.Z.T @ Y
            self._value = float(
                self.constant + np.sum(Q * Q) - 2 * np.trace(Q) + self.lam * (np.sum(P * P) - 2 * np.sum(T * T))
            )
            self._at, self._state = Y.copy(), (KY, P, Q, T)
            meter.note(self._value)
        return self._value

    def gradient(self, Y: np.ndarray, meter: Meter) -> np.ndarray:
        self.evaluate(Y, meter)
        KY, P, Q, T = self._state
        return np.asarray(4 * (Y @ Q - Y + self.lam * (KY @ P - self.Z @ T)))

    def hessian(self, Y: np.ndarray, E: np.ndarray, meter: Meter) -> np.ndarray:
        self.evaluate(Y, meter)
        KY, P, Q, _ = self._state
        KE = self.product(E)
        meter.tick()
        S, R = KE.T @ Y, E.T @ Y
        return np.asarray(
            4 * (E @ Q - E + Y @ (R + R.T) + self.lam * (KE @ P + KY @ (S + S.T) - self.Z @ (self.Z.T @ E)))
        )


def scipy_lbfgsb(cost: KTACost, Y0: np.ndarray, limit: float) -> Curve:
    """L-BFGS-B on vec(Y), 20 pairs as in Yuan et al., tolerances off."""
    from scipy.optimize import minimize

    def solve(meter: Meter) -> None:
        def both(x: np.ndarray) -> tuple[float, np.ndarray]:
            Y = x.reshape(Y0.shape)
            return cost.evaluate(Y, meter), cost.gradient(Y, meter).ravel()

        options: Any = {"maxiter": 10**6, "maxfun": 10**7, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
        minimize(both, Y0.ravel(), jac=True, method="L-BFGS-B", options=options)

    return run_peer("scipy L-BFGS-B", limit, solve)


def scaled_lbfgsb(K: np.ndarray, cost: KTACost, Y0: np.ndarray, limit: float) -> Curve:
    """L-BFGS-B on W, Y = V Diag(s) W with K = V Diag(a) Vᵀ and s = (1 + lam a²)^(-¼); the time has the eigenvectors.

    In the eigenvectors K is diagonal, and so is the quadratic part of the cost on W: the product costs d r, not d² r.
    """
    from scipy.linalg import eigh
    from scipy.optimize import minimize

    def solve(meter: Meter) -> None:
        a, V = eigh(K, driver="evd", check_finite=False)
        s = ((1.0 + cost.lam * a**2) ** -0.25)[:, None]
        turned = KTACost(lambda U: a[:, None] * U, V.T @ cost.Z, cost.lam, cost.constant)

        def both(x: np.ndarray) -> tuple[float, np.ndarray]:
            U = s * x.reshape(Y0.shape)
            return turned.evaluate(U, meter), (s * turned.gradient(U, meter)).ravel()

        options: Any = {"maxiter": 10**6, "maxfun": 10**7, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
        minimize(both, ((V.T @ Y0) / s).ravel(), jac=True, method="L-BFGS-B", options=options)

    return run_peer("scipy L-BFGS-B, scaled", limit, solve)


def pymanopt_peer(kind: str, cost: KTACost, Y0: np.ndarray, limit: float) -> Curve:
    """pymanopt on PSDFixedRank, `kind` "ConjugateGradient" or "TrustRegions", tolerances off."""
    import pymanopt
    from pymanopt import optimizers
    from pymanopt.manifolds import PSDFixedRank

    manifold = PSDFixedRank(*Y0.shape)

    def solve(meter: Meter) -> None:
        function: Any = pymanopt.function.numpy(manifold)
        problem = pymanopt.Problem(
            manifold,
            function(lambda Y: cost.evaluate(Y, meter)),
            euclidean_gradient=function(lambda Y: cost.gradient(Y, meter)),
            euclidean_hessian=function(lambda Y, E: cost.hessian(Y, E, meter)),
        )
        optimizer = getattr(optimizers, kind)(
            max_time=limit, max_iterations=10**7, min_gradient_norm=1e-13, min_step_size=1e-30, verbosity=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            optimizer.run(problem, initial_point=Y0.copy())

    return run_peer(f"pymanopt {kind}", limit, solve)
