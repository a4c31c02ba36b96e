"""Problems for tests, each beside its twin: the same F as a plain function of the dense M for autograd."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import autograd.numpy as anp
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt import AutogradProblem, QuadraticSDP, TermSum
from psdopt.linalg.operators import LinearMap, symmetric_map
from psdopt.terms.forms import GramForm, IdentityForm, MatrixForm, SumForm
from psdopt.terms.losses import HalfSquaredOneSided, LeastSquares, Linear, Loss, SquaredHinge
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms, TripletDifferences
from psdopt.terms.quadratic import LinearTerm, ProductTerm

N = 7


class LogCosh(Loss):
    """weight Σ log cosh(scale (a − b)): smooth and of no degree."""

    nonnegative = True

    def __init__(self, b, scale=1.0, weight=1.0):
        self.b, self.scale, self.weight = b, scale, weight

    def value(self, a):
        d = np.abs(self.scale * (a - self.b))
        return self.weight * float(np.sum(d + np.log1p(np.exp(-2.0 * d)) - np.log(2.0)))

    def derivative(self, a):
        return self.weight * self.scale * np.tanh(self.scale * (a - self.b))

    def second(self, a):
        return self.weight * self.scale**2 / np.cosh(np.clip(self.scale * (a - self.b), -350.0, 350.0)) ** 2


@dataclass
class Instance:
    """`problem` and `twin`; `per_line`, applications in one line and gradient; `quadratic`, F is quadratic in M."""

    problem: TermSum
    twin: AutogradProblem
    per_line: int
    quadratic: bool = True


def spectrum_matrix(rng: np.random.Generator, n: int, values: Any) -> np.ndarray:
    """Symmetric matrix with the given eigenvalues and a random frame."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    M = (Q * np.asarray(values)) @ Q.T
    return 0.5 * (M + M.T)


def psd(rng: np.random.Generator, n: int = N, rank: int | None = None, condition: float = 100.0) -> np.ndarray:
    values = np.zeros(n)
    values[: rank or n] = np.logspace(0, -np.log10(condition), rank or n)
    return spectrum_matrix(rng, n, values)


def symmetric(rng: np.random.Generator, n: int = N) -> np.ndarray:
    """Indefinite, with some clearly negative eigenvalues."""
    return spectrum_matrix(rng, n, np.linspace(-2.0, 1.0, n))


def quadratic_twin(A, B, C, constant=0.0, n=N):
    def F(M):
        AM = anp.dot(A, M)
        return anp.sum(AM * AM.T) + anp.sum(B * anp.dot(M, M)) + 2.0 * anp.sum(C * M) + constant

    return AutogradProblem(F, n, convex=True)


def _qsdp(wrap: Callable[[np.ndarray], Any]):
    def build(rng):
        A, B, C = psd(rng), psd(rng, rank=4), symmetric(rng)
        return Instance(QuadraticSDP(wrap(A), wrap(B), wrap(C), constant=1.5), quadratic_twin(A, B, C, 1.5), 3)

    return build


def _kta(rng):
    X, labels, lam = rng.standard_normal((12, N)), np.eye(3)[rng.integers(0, 3, 12)], 0.3
    shared = LinearMap(X, "X")
    problem = QuadraticSDP(
        GramForm(shared, np.sqrt(lam)), 1.0, [GramForm(shared, -lam, labels), IdentityForm(N, -1.0)], constant=N
    )
    A, C = np.sqrt(lam) * X.T @ X, -lam * X.T @ labels @ labels.T @ X - np.eye(N)
    return Instance(problem, quadratic_twin(A, np.eye(N), C, N), 2)


def _product(rng):
    A, B, C = psd(rng), psd(rng, rank=3), symmetric(rng)
    P, Q, R = (symmetric_map(x, name) for x, name in ((A, "A"), (B, "B"), (C, "C")))
    problem = TermSum(
        [
            ProductTerm(SumForm([MatrixForm(P, 0.5), IdentityForm(N, 2.0)]), MatrixForm(Q), 0.7),
            LinearTerm(MatrixForm(R), -0.3),
        ]
    )
    both = 0.5 * A + 2.0 * np.eye(N)

    def F(M):
        return 0.7 * anp.trace(anp.dot(anp.dot(both, M), anp.dot(B, M))) - 0.3 * anp.sum(C * M)

    return Instance(problem, AutogradProblem(F, N, convex=True), 3)


def _forms(rng):
    X, y, w = rng.standard_normal((15, N)), rng.uniform(0, 10, 15), rng.uniform(0.1, 2, 15)
    term = MeasuredTerm(QuadraticForms(sp.csr_array(X)), LeastSquares(y, w), 0.5)

    def F(M):
        return 0.5 * anp.sum(w * (anp.sum(anp.dot(X, M) * X, axis=1) - y) ** 2)

    return Instance(TermSum([term]), AutogradProblem(F, N, convex=True), 2)


def pairs(rng, rows, count):
    i = rng.integers(0, rows, count)
    return i, (i + rng.integers(1, rows, count)) % rows


def distances(M, X, i, j):
    E = X[i] - X[j]
    return anp.sum(anp.dot(E, M) * E, axis=1)


def _pair_distances(with_data: bool):
    def build(rng):
        X = rng.standard_normal((10, N)) + 3.0 if with_data else np.eye(N)
        i, j = pairs(rng, len(X), 14)
        y = rng.uniform(0, 8, 14)
        measurement = PairDistances(i, j, X) if with_data else PairDistances(i, j, n=N)
        problem = TermSum([MeasuredTerm(measurement, LeastSquares(y), 0.7), LinearTerm(IdentityForm(N), -0.4)], 2.0)

        def F(M):
            return 0.7 * anp.sum((distances(M, X, i, j) - y) ** 2) - 0.4 * anp.trace(M) + 2.0

        return Instance(problem, AutogradProblem(F, N, convex=True), 2 if with_data else 0)

    return build


def _triplets(rng):
    X = LinearMap(rng.standard_normal((10, N)), "X")
    i = rng.integers(0, 10, 30)
    j, k = (i + rng.integers(1, 5, 30)) % 10, (i + rng.integers(5, 10, 30)) % 10
    problem = TermSum(
        [
            MeasuredTerm(PairDistances(i[:9], j[:9], X), Linear(rng.uniform(0.5, 1, 9)), 0.2),
            MeasuredTerm(TripletDifferences(i, j, k, X), SquaredHinge(1.0), 0.8),
        ]
    )
    w, data = problem.terms[0].loss.weights, X.data

    def F(M):
        h = anp.maximum(0.0, 1.0 - distances(M, data, i, k) + distances(M, data, i, j))
        return 0.2 * anp.sum(w * distances(M, data, i[:9], j[:9])) + 0.8 * anp.sum(h**2)

    return Instance(problem, AutogradProblem(F, N, convex=True), 2, quadratic=False)


def _entries(rng):
    i, j = rng.integers(0, N, 20), rng.integers(0, N, 20)
    i[:3] = j[:3]
    y = rng.standard_normal(20)
    C = symmetric(rng)
    problem = TermSum([MeasuredTerm(Entries(i, j, N), LeastSquares(y)), LinearTerm(MatrixForm(symmetric_map(C, "C")))])

    def F(M):
        return anp.sum((0.5 * (M[i, j] + M[j, i]) - y) ** 2) + anp.sum(C * M)

    return Instance(problem, AutogradProblem(F, N, convex=True), 1)


def _one_sided(rng):
    X, y = rng.standard_normal((15, N)), rng.uniform(0, 8, 15)
    direction = rng.integers(-1, 2, 15).astype(float)
    problem = TermSum([MeasuredTerm(QuadraticForms(X), HalfSquaredOneSided(y, direction), 1 / 15)])

    def F(M):
        r = anp.sum(anp.dot(X, M) * X, axis=1) - y
        one_sided = anp.maximum(0.0, direction * r) ** 2
        return 0.5 * anp.sum(anp.where(direction == 0, r**2, one_sided)) / 15

    return Instance(problem, AutogradProblem(F, N, convex=True), 2, quadratic=False)


INSTANCES: dict[str, Callable[[np.random.Generator], Instance]] = {
    "qsdp-dense": _qsdp(lambda A: A),
    "qsdp-sparse": _qsdp(sp.csr_array),
    "qsdp-operator": _qsdp(aslinearoperator),
    "kta": _kta,
    "product": _product,
    "forms": _forms,
    "distances": _pair_distances(True),
    "distances-of-entries": _pair_distances(False),
    "triplets": _triplets,
    "entries": _entries,
    "one-sided": _one_sided,
}
