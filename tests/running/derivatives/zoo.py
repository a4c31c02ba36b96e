"""Minimisers that are not differentiable in the data of their problems, and neighbours of them that are.

Each entry makes a problem from a number: at 0 it is degenerate, at the number beside it it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from psdopt import (
    Constrained,
    EntryFit,
    FixedTrace,
    FlatQuotient,
    Problem,
    QuadraticSDP,
    Spectraplex,
    TermSum,
    constraints,
)
from psdopt.terms import (
    Entries,
    GramForm,
    HalfSquaredOneSided,
    IdentityForm,
    LeastSquares,
    LinearTerm,
    MeasuredTerm,
    PairDistances,
    ProductTerm,
    QuadraticForms,
    SquaredHinge,
    hermitian_form,
)
from psdopt_plugins.hermitian import state_problem
from tests.running.derivatives.problems import symmetric

Maker = Callable[[float], tuple[Problem, dict[str, Any]]]


def turned(values: Any, seed: int = 0) -> np.ndarray:
    """A symmetric matrix with these eigenvalues and random eigenvectors."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    A = (Q * np.asarray(values, dtype=float)) @ Q.T
    return 0.5 * (A + A.T)


def nearest(T: np.ndarray) -> QuadraticSDP:
    """½ |M − T|²."""
    return QuadraticSDP(B=0.5, C=-0.5 * T)


def complementarity() -> dict[str, tuple[Maker, float]]:
    """S has an eigenvalue 0 beyond the range of M."""

    def positive_part(*values: float) -> Maker:
        return lambda e: (nearest(turned([e if v == 0.0 else v for v in values])), {})

    def zero(*values: float) -> Maker:
        return lambda e: (QuadraticSDP(A=np.eye(len(values)), C=turned([v or e for v in values])), {})

    def gram(e: float) -> tuple[Problem, dict[str, Any]]:
        X = np.random.default_rng(1).standard_normal((3, 8))
        ridge = LinearTerm(e * np.eye(8))
        return TermSum([ProductTerm(np.eye(8), np.eye(8), 0.5), LinearTerm(GramForm(X, -1.0)), ridge]), {}

    def sphere(e: float) -> tuple[Problem, dict[str, Any]]:
        T = turned([3.0, 2.0, 1.0 - e, -1.0, -2.0])  # T − 1 has trace 3 in its positive part
        return Constrained(nearest(T), constraints.trace(5, 3.0)), {}

    def correlation(e: float) -> tuple[Problem, dict[str, Any]]:
        s = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
        return Constrained(
            nearest(np.outer(s, s) - e * np.eye(5) + turned([e, 0, 0, 0, 0])), constraints.diagonal(5, 1.0)
        ), {}

    return {
        "one zero eigenvalue": (positive_part(3.0, 1.0, 0.0, -1.0), 0.1),
        "a zero eigenvalue at order 9": (positive_part(5, 4, 3, 2, 1, 0.0, -1, -2, -3), 0.1),
        "two zero eigenvalues": (positive_part(3.0, 0.0, 0.0, -1.0, -2.0), -0.1),
        "nothing but a zero eigenvalue beyond": (positive_part(3.0, 1.0, 2.0, 0.0), -0.1),
        "M = 0 and a singular S": (zero(0.0, 1.0, 2.0), 0.1),
        "M = 0 and S of rank 1": (zero(0.0, 0.0, 2.0), 0.1),
        "a Gram matrix of low rank": (gram, 0.1),
        "a trace at which an eigenvalue vanishes": (sphere, 0.2),
        "a matrix that is a correlation matrix": (correlation, 0.5),
    }


def several_minimisers() -> dict[str, tuple[Maker, float]]:
    """M moves along a face on which F is constant."""

    def lowest(*values: float, geometry: Any = None) -> Maker:
        def make(e: float) -> tuple[Problem, dict[str, Any]]:
            n = len(values)
            C = turned(np.asarray(values) + e * np.arange(n))
            if geometry is not None:
                return QuadraticSDP(C=C), {"geometry": geometry(n)}
            return Constrained(QuadraticSDP(C=C), constraints.trace(n, 1.0)), {}

        return make

    def complete(n: int) -> Maker:
        def make(e: float) -> tuple[Problem, dict[str, Any]]:
            C = np.ones((n, n)) + e * symmetric(np.random.default_rng(3), n)
            return Constrained(QuadraticSDP(C=C), constraints.diagonal(n, 1.0)), {}

        return make

    def few_entries(e: float) -> tuple[Problem, dict[str, Any]]:
        i = np.arange(5)
        L = np.eye(6) * e if e else None
        return EntryFit(L, i, i + 1, 1.0, n=6), {}

    def few_measurements(e: float) -> tuple[Problem, dict[str, Any]]:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((9 if e == 0.0 else 90, 5))
        return TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(rng.uniform(1, 2, len(X))))]), {}

    def distances(e: float) -> tuple[Problem, dict[str, Any]]:
        rng = np.random.default_rng(0)
        i, j = np.triu_indices(7, 1)
        D = rng.standard_normal((7, 2))
        targets = ((D[i] - D[j]) ** 2).sum(axis=1) + 0.1 * rng.random(len(i))
        terms: list[Any] = [MeasuredTerm(PairDistances(i, j, None, 7), LeastSquares(targets))]
        if e:
            terms.append(ProductTerm(np.ones((7, 7)), np.eye(7), e))
            terms.append(LinearTerm(np.ones((7, 7)), e))
        return TermSum(terms), {}

    def singular_product(e: float) -> tuple[Problem, dict[str, Any]]:
        return QuadraticSDP(A=turned([2.0, 1.0, e, e]), C=turned([-1.0, -2.0, e, e])), {}

    return {
        "least eigenvalue of multiplicity 2": (lowest(1.0, 1.0, 2.0, 3.0), 0.1),
        "least eigenvalue of multiplicity 3": (lowest(1.0, 1.0, 1.0, 2.0, 3.0), 0.1),
        "a linear F that is constant": (lowest(1.0, 1.0, 1.0, 1.0), 0.1),
        "a double eigenvalue on the spectraplex": (lowest(0.0, 0.0, 1.0, 2.0, geometry=Spectraplex), 0.1),
        "a double eigenvalue at fixed trace": (lowest(0.0, 0.0, 1.0, geometry=lambda n: FixedTrace(n, 1, 1.0)), 0.1),
        "cuts of a complete graph of 4": (complete(4), 0.3),
        "cuts of a complete graph of 6": (complete(6), 0.3),
        "entries that leave M free": (few_entries, 0.3),
        "fewer measurements than numbers": (few_measurements, 1.0),
        "distances that leave the place free": (distances, 1.0),
        "a product with a singular matrix": (singular_product, 0.5),
    }


def limits_of_the_rank() -> dict[str, tuple[Maker, float]]:
    """The last of the eigenvalues that are kept equals the first that is not."""

    def top(k: int, *values: float) -> Maker:
        def make(e: float) -> tuple[Problem, dict[str, Any]]:
            kept = np.asarray(values, dtype=float)
            kept[:k] += e
            return nearest(turned(kept)), {"geometry": FlatQuotient(len(values), k)}

        return make

    return {
        "top 1 of a double eigenvalue": (top(1, 2.0, 2.0, 1.0, -1.0), 0.1),
        "top 2 of a triple eigenvalue": (top(2, 2.0, 2.0, 2.0, 1.0), 0.1),
    }


def multipliers() -> dict[str, tuple[Maker, float]]:
    """Multipliers that are not unique."""
    C = symmetric(np.random.default_rng(8), 6)

    def linear(*groups: Any) -> tuple[Problem, dict[str, Any]]:
        return Constrained(QuadraticSDP(C=C), groups), {}

    def twice(e: float) -> tuple[Problem, dict[str, Any]]:
        other = constraints.entries([0], [1 if e else 0], 6, 0.5 if e else 1.0)
        return linear(constraints.diagonal(6, 1.0), other)

    def summed(e: float) -> tuple[Problem, dict[str, Any]]:
        i = np.arange(5 if e else 6)
        return linear(constraints.entries(i, i, 6, 1.0), constraints.trace(6, 6.0))

    def tight(e: float) -> tuple[Problem, dict[str, Any]]:
        return linear(constraints.diagonal(6, 1.0), constraints.entries([0], [1], 6, 1.0 - e))

    def face(e: float) -> tuple[Problem, dict[str, Any]]:
        return linear(constraints.diagonal(6, np.append(np.ones(5), e)))

    def at_a_cut(e: float) -> tuple[Problem, dict[str, Any]]:
        # at M = 1 1ᵀ the A_t Y of e₁e₁ᵀ + e₂e₂ᵀ and of e₁e₂ᵀ + e₂e₁ᵀ are alike, though the A_t are not
        same, crossed = np.diag([1.0, 1.0, 0.0]), np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])
        third = np.diag([0.0, 0.0, 1.0])
        groups = constraints.sparse_forms([same, crossed + e * np.diag([1.0, 0, 0]), third], equals=[2.0, 2.0 + e, 1.0])
        return Constrained(QuadraticSDP(C=3.0 * np.eye(3) - np.ones((3, 3))), groups), {}

    return {
        "a constraint given twice": (twice, 1.0),
        "a constraint that is the sum of others": (summed, 1.0),
        "an entry that makes two rows equal": (tight, 0.4),
        "a diagonal entry held to 0": (face, 0.5),
        "normals that depend on each other at a cut": (at_a_cut, 0.5),
    }


def corners() -> dict[str, tuple[Maker, float]]:
    """A loss at its corner, or an inequality that neither holds M nor is away from it."""
    T = turned([3.0, 2.0, 1.0, -1.0], 4)
    M = turned([3.0, 2.0, 1.0, 0.0], 4)

    def hinge(sign: float) -> Maker:
        def make(e: float) -> tuple[Problem, dict[str, Any]]:
            loss = SquaredHinge(sign * np.diagonal(M) + e, sign)
            return TermSum([*nearest(T).terms, MeasuredTerm(Entries(range(4), range(4), 4), loss)]), {}

        return make

    def one_sided(e: float) -> tuple[Problem, dict[str, Any]]:
        loss = HalfSquaredOneSided([M[0, 1] - e, M[2, 2] + e], [1.0, -1.0])
        return TermSum([*nearest(T).terms, MeasuredTerm(Entries([0, 2], [1, 2], 4), loss)]), {}

    def trace(e: float) -> tuple[Problem, dict[str, Any]]:
        return Constrained(nearest(T), constraints.trace(4, upper=6.0 - e)), {}

    def entry(e: float) -> tuple[Problem, dict[str, Any]]:
        return Constrained(nearest(T), constraints.entries([0, 1], [1, 2], 4, lower=[M[0, 1] + e, -9.0])), {}

    def diagonal(e: float) -> tuple[Problem, dict[str, Any]]:
        return Constrained(
            nearest(T), constraints.diagonal(4, upper=np.diagonal(M) - [e, 0.0, 0.0, 0.0] + [0, 2, 2, 2.0])
        ), {}

    return {
        "hinges at their margin": (hinge(1.0), 0.2),
        "hinges at their margin from above": (hinge(-1.0), 0.2),
        "one-sided squares at their targets": (one_sided, 0.2),
        "a bound on the trace that just does not bind": (trace, 0.5),
        "the same from the other side": (trace, -0.5),
        "a bound on an entry that just does not bind": (entry, 0.2),
        "a bound on the diagonal that just does not bind": (diagonal, 0.2),
    }


def hermitian() -> dict[str, tuple[Maker, float]]:
    """The same of Hermitian matrices on a real factor, of which all numbers are seen but no more."""

    def turned_state(values: Any) -> np.ndarray:
        rng = np.random.default_rng(2)
        Q = np.linalg.qr(rng.standard_normal((4, 4)) + 1j * rng.standard_normal((4, 4)))[0]
        A = (Q * np.asarray(values, dtype=float)) @ Q.conj().T
        return 0.5 * (A + A.conj().T)

    def nearest_to(values: Callable[[float], Any], rank: int = 8) -> Maker:
        i, j = np.triu_indices(4)
        group = constraints.hermitian_entries(i, j, 4, 0.0).measurement
        twice = np.concatenate([np.where(i == j, 1.0, 2.0), np.full(6, 2.0)])

        def make(e: float) -> tuple[Problem, dict[str, Any]]:
            T = turned_state(values(e))[i, j]
            loss = LeastSquares(np.concatenate([T.real, T.imag[i != j]]), twice)
            return TermSum([MeasuredTerm(group, loss, 0.5)]), {"geometry": FlatQuotient(8, rank)}

        return make

    def lowest(e: float, sphere: bool = False) -> tuple[Problem, dict[str, Any]]:
        F = TermSum([LinearTerm(hermitian_form(turned_state([1.0, 1.0 + e, 2.0, 3.0])))])
        return (F, {"geometry": FixedTrace(8, 2, 1.0)}) if sphere else (Constrained(F, constraints.trace(8, 1.0)), {})

    def real_cut(e: float) -> tuple[Problem, dict[str, Any]]:
        # H = V Vᵀ, real and of rank 2: V (I + i Ω) Vᵀ has the same diagonal and value for a small skew Ω
        V = np.array([[1.0, 0.0], [0.6, 0.8], [-0.8, 0.6], [0.28, 0.96]])
        C = np.eye(4) - V @ np.linalg.pinv(V) + 1j * e * np.triu(np.ones((4, 4)), 1)
        group = constraints.hermitian_entries(range(4), range(4), 4, 1.0)
        return Constrained(TermSum([LinearTerm(hermitian_form(0.5 * (C + C.conj().T)))]), group), {}

    def squares(e: float) -> tuple[Problem, dict[str, Any]]:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((4 if e else 12, 4)) + 1j * rng.standard_normal((4 if e else 12, 4))
        form = constraints.hermitian_squares(X, np.abs(X @ [1.0, 1j, -1.0, 2.0]) ** 2)
        return Constrained(TermSum([LinearTerm(IdentityForm(8))]), form), {}

    def pauli(e: float) -> tuple[Problem, dict[str, Any]]:
        strings = ["XX", "YY", "ZZ"]
        return state_problem(strings, [1.2, -1.1, 1.3] if e else [0.3, 0.2, 0.1]), {"geometry": FixedTrace(8, 8)}

    return {
        "a Hermitian matrix with an eigenvalue 0": (nearest_to(lambda e: [3.0, 1.0, -e, -2.0]), 0.5),
        "Hermitian, top 1 of a double eigenvalue": (nearest_to(lambda e: [3.0 + e, 3.0, 1.0, -2.0], 1), 0.5),
        "Hermitian, top 2 of a triple eigenvalue": (nearest_to(lambda e: [3.0 + e, 2.0 + e, 2.0, 2.0], 2), 0.5),
        "a double least eigenvalue of a Hermitian C": (lowest, 0.3),
        "the same at fixed trace": (lambda e: lowest(e, sphere=True), 0.3),
        "a Hermitian cut with a real C": (real_cut, 1.0),
        "more squares than unknown phases": (squares, 1.0),
        "states that few expectations leave free": (pauli, 1.0),
    }


ZOO: dict[str, tuple[Maker, float]] = {
    **complementarity(),
    **several_minimisers(),
    **limits_of_the_rank(),
    **multipliers(),
    **corners(),
    **hermitian(),
}
