"""Random problems at the edges of what data can be: units, weights, repetitions, one class, order one, no minimum."""

import autograd.numpy as anp
import numpy as np
import scipy.sparse as sp

from psdopt import AutogradProblem, EntryFit, Problem, QuadraticSDP, TermSum
from psdopt.terms import (
    Entries,
    HalfSquaredOneSided,
    LeastSquares,
    LinearTerm,
    MeasuredTerm,
    PairDistances,
    QuadraticForms,
    SquaredHinge,
)
from psdopt_plugins.metric_learning import kta_problem, linearity_problem
from tests.integration.hostile_problems import Family


def order(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 7))


def few_entries(rng: np.random.Generator, hostile: bool) -> Problem:
    """A fit to one to four entries, some of them negative on the diagonal; hostile: of sizes 1e±6."""
    n = order(rng)
    i, j = np.triu_indices(n)
    chosen = rng.choice(len(i), min(int(rng.integers(1, 5)), len(i)), replace=False)
    targets = rng.standard_normal(len(chosen)) * (10.0 ** rng.uniform(-6, 6, len(chosen)) if hostile else 1.0)
    if rng.random() < 0.5:
        return EntryFit(sp.csr_array((n, n)), i[chosen], j[chosen], targets)
    return TermSum([MeasuredTerm(Entries(i[chosen], j[chosen], n), LeastSquares(targets))])


def weighted(rng: np.random.Generator, hostile: bool) -> Problem:
    """Quadratic forms with weights over 16 decades, some of them zero."""
    n, m = order(rng), int(rng.integers(1, 20))
    w = 10.0 ** rng.uniform(-8, 8, m) if hostile else rng.uniform(0.1, 2.0, m)
    w[rng.random(m) < 0.2] = 0.0
    w[0] = max(w[0], 1.0)
    forms = QuadraticForms(rng.standard_normal((m, n)))
    return TermSum([MeasuredTerm(forms, LeastSquares(rng.uniform(-1, 3, m), w)), LinearTerm(np.eye(n), 1e-3)])


def repeated(rng: np.random.Generator, hostile: bool) -> Problem:
    """Targets that are all equal, of samples that occur twice; hostile: samples of zeros too."""
    n, m = order(rng), int(rng.integers(1, 10))
    X = np.repeat(rng.standard_normal((m, n)), 2, axis=0)
    if hostile:
        X[rng.random(len(X)) < 0.4] = 0.0
    target = float(rng.choice([0.0, 1.0, -1.0, 1e-6]))
    return TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(np.full(len(X), target)))])


def same_pairs(rng: np.random.Generator, hostile: bool) -> Problem:
    """Distances of samples, many of them equal, to bounds from above and below that may contradict each other."""
    n, m = order(rng), 8
    X = rng.standard_normal((m, n)) * (10.0 ** rng.uniform(-5, 5) if hostile else 1.0)
    X[m // 2 :] = X[: m - m // 2] if rng.random() < 0.5 else X[0]
    i, j = np.triu_indices(m, 1)
    sign = rng.choice([-1.0, 1.0], len(i))
    loss = SquaredHinge if rng.random() < 0.5 else HalfSquaredOneSided
    hinge = MeasuredTerm(PairDistances(i, j, X), loss(sign * 1.0, sign))
    return TermSum([hinge, LinearTerm(np.eye(n), float(10.0 ** rng.uniform(-6, 1)))])


def one_class(rng: np.random.Generator, hostile: bool) -> Problem:
    """Kernel target alignment with one sample of a second class, or pairs that are all alike."""
    n, m = order(rng), 12
    X = rng.standard_normal((m, n)) + (10.0 ** rng.uniform(0, 5) if hostile else 0.0)
    if rng.random() < 0.5:
        return kta_problem(X, np.arange(m) == 0, 0.1)
    kind = int(rng.choice([-1, 1]))
    pairs = np.array([(i, i + 1, kind) for i in range(m - 1)])
    return linearity_problem(X, pairs, float(10.0 ** rng.uniform(-2, 1)))


def units(rng: np.random.Generator, hostile: bool) -> Problem:
    """A well-conditioned quadratic whose values and matrices are in units of 1e±60; hostile: 1e±140."""
    n, most = order(rng), 140.0 if hostile else 60.0
    value, matrix = 10.0 ** rng.uniform(-most, most), 10.0 ** rng.uniform(-0.25 * most, 0.25 * most)
    K = rng.standard_normal((n, n))
    return QuadraticSDP(None, value / matrix**2, (K + K.T) * (value / matrix))


def far_trace(rng: np.random.Generator, hostile: bool) -> Problem:
    """A separable quadratic whose minimiser has eigenvalues over ten (hostile: twenty) decades."""
    n, decades = order(rng), 20.0 if hostile else 10.0
    b = 10.0 ** rng.uniform(-decades, 0, n)
    return QuadraticSDP(B=np.diag(b), C=np.diag(-np.sqrt(b) * rng.uniform(0.1, 1.0, n) * rng.choice([1.0, 1e-3], n)))


def separable(rng: np.random.Generator, hostile: bool) -> Problem:
    """Logistic losses that tend to their infimum at infinity, with a weight of the trace that may be 1e-12 or 0."""
    n, m = order(rng), 6
    X = rng.standard_normal((m, n)) * (10.0 ** rng.uniform(-4, 4) if hostile else 1.0)
    c = float(rng.choice([0.0, 1e-12, 1e-3]))
    return AutogradProblem(
        lambda M: anp.sum(anp.log1p(anp.exp(-anp.sum(anp.dot(X, M) * X, axis=1)))) + c * anp.trace(M), n, convex=True
    )


def plateau(rng: np.random.Generator, hostile: bool) -> Problem:
    """Squared hinges that a whole set of matrices meets: minimisers without end, F = 0 there."""
    n, m = order(rng), 5
    X = rng.standard_normal((m, n)) * (10.0 ** rng.uniform(-6, 6) if hostile else 1.0)
    return TermSum([MeasuredTerm(QuadraticForms(X), SquaredHinge(10.0 ** rng.uniform(-3, 3, m)))])


def falling(rng: np.random.Generator, hostile: bool) -> Problem:
    """A quadratic that is flat where its linear term falls: no minimum on the cone."""
    n = 1 + order(rng)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0] if rng.random() < 0.5 else np.eye(n)
    b = 10.0 ** rng.uniform(-4, 4, n) if hostile else rng.uniform(0.5, 2.0, n)
    b[0] = 0.0
    c = rng.standard_normal(n) * (10.0 ** rng.uniform(-4, 4, n) if hostile else 1.0)
    c[0] = -abs(c[0])
    loss = MeasuredTerm(QuadraticForms(Q[:, 1:].T), LeastSquares(-c[1:], b[1:]))
    return TermSum([loss, LinearTerm(c[0] * np.outer(Q[:, 0], Q[:, 0]))])


#: Without a minimum on the cone.
FALLING = {"falling"}
SLOW = {"separable"}
ALL = (
    few_entries, weighted, repeated, same_pairs, one_class, units, far_trace, separable, plateau, falling,
)  # fmt: skip
EXTREMES: dict[str, Family] = {f.__name__: f for f in ALL}
