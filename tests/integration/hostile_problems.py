"""Random problems with hostile scales, and at the edges of what data can be: families of one constructor each."""

from collections.abc import Callable

import autograd.numpy as anp
import numpy as np
import scipy.sparse as sp

from psdopt import AutogradProblem, EntryFit, Problem, QuadraticSDP, TermSum
from psdopt.terms import LinearTerm, MeasuredTerm, PairDistances, TripletDifferences
from psdopt.terms.losses import HalfSquaredOneSided, LeastSquares, SquaredHinge
from psdopt.terms.measurements import Entries, QuadraticForms
from psdopt_plugins.kernel_learning.pairwise_problem import pairwise_kernel_problem
from psdopt_plugins.metric_learning import kta_problem, linearity_problem

#: A random problem of the generator; with hostile scales, if the second argument says so.
Family = Callable[[np.random.Generator, bool], Problem]


def samples(rng, hostile, m, n):
    """Rows, in half of the hostile cases with columns of scales 1e±4 or 1e±8, in the other half with a large offset."""
    X = rng.standard_normal((m, n))
    if hostile and rng.random() < 0.5:
        return X * 10.0 ** (rng.choice([4.0, 8.0]) * rng.uniform(-1, 1, n))
    return X + 10.0 ** rng.uniform(1, 4) * rng.standard_normal(n) if hostile else X


def spectrum(rng, hostile, n, positive=False):
    """A symmetric matrix; hostile: eigenvalues of sizes 1e±8."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = 10.0 ** rng.uniform(-8, 8, n) if hostile else rng.uniform(0.1, 2.0, n)
    if not positive:
        values = values * rng.choice([-1.0, 1.0], n)
    M = (Q * values) @ Q.T if rng.random() < 0.5 else np.diag(values)
    return 0.5 * (M + M.T)


def order(rng):
    return int(rng.integers(2, 7))


def projection(rng, hostile):
    n = order(rng)
    return QuadraticSDP(None, 1.0, spectrum(rng, hostile, n))


def quadratic(rng, hostile):
    n = order(rng)
    A, B = spectrum(rng, hostile and rng.random() < 0.5, n, True), spectrum(rng, hostile, n, True)
    return QuadraticSDP(A, B, spectrum(rng, hostile, n))


def kta(rng, hostile):
    n, m = order(rng), 20
    return kta_problem(samples(rng, hostile, m, n), rng.integers(0, 3, m) % 3 if m > 3 else None, 0.1)


def linearity(rng, hostile):
    n, m = order(rng), 20
    pairs = np.array([(i, j, rng.choice([-1, 1])) for i in range(m) for j in range(i) if rng.random() < 0.2])
    return linearity_problem(samples(rng, hostile, m, n), pairs, float(10.0 ** rng.uniform(-2, 1)))


def regression(rng, hostile):
    n, m = order(rng), int(rng.integers(3, 30))
    return TermSum([MeasuredTerm(QuadraticForms(samples(rng, hostile, m, n)), LeastSquares(rng.uniform(0, 3, m)))])


def hinges(rng, hostile):
    n, m = order(rng), 12
    X = samples(rng, hostile, m, n)
    i, j = np.triu_indices(m, 1)
    C = np.cov(X.T) if n > 1 else np.eye(1)
    return TermSum([MeasuredTerm(PairDistances(i, j, X), SquaredHinge(np.ones(len(i)))), LinearTerm(C, 0.1)])


def completion(rng, hostile):
    n = order(rng)
    Y = rng.standard_normal((n, 2)) * (10.0 ** rng.uniform(-3, 3, (n, 1)) if hostile else 1.0)
    i, j = np.triu_indices(n)
    kept = (i == j) | (rng.random(len(i)) < 0.5)
    L = sp.csr_array(np.diag(rng.uniform(0.0, 1.0, n)))
    return EntryFit(L, i[kept], j[kept], (Y @ Y.T)[i[kept], j[kept]])


def offdiagonal(rng, hostile):
    n = order(rng)
    K = np.cov(rng.standard_normal((n, 3 * n))) * (1e4 if hostile else 1.0)
    i, j = np.triu_indices(n, 1)
    return TermSum([MeasuredTerm(Entries(i, j, n), LeastSquares(np.atleast_2d(K)[i, j]))])


def pairwise(rng, hostile):
    n = order(rng)
    W = np.triu(rng.random((n, n)) < 0.5, 1).astype(float)
    W = W + W.T
    i, j = np.triu_indices(n, 1)
    kept = rng.random(len(i)) < 0.5
    kept[0] = True
    targets = rng.integers(0, 2, int(kept.sum())).astype(float)
    gamma = float(10.0 ** rng.uniform(-4, 4)) if hostile else 1.0
    pairs = np.column_stack([i[kept], j[kept]])
    return pairwise_kernel_problem(sp.csr_array(np.diag(W.sum(1)) - W), pairs, targets, gamma)


def linear(rng, hostile):
    return QuadraticSDP(C=spectrum(rng, hostile, order(rng)))


def definite(rng, hostile):
    """⟨B M, M⟩ / 2 with a kernel, and a linear term in the range of B: a minimum without strong convexity."""
    n = order(rng)
    B = spectrum(rng, hostile, n, True)
    w, Q = np.linalg.eigh(B)
    w[0] = 0.0
    B = (Q * w) @ Q.T
    return QuadraticSDP(None, B, -B @ B if rng.random() < 0.5 else B - 2.0 * B @ B)


def barrier(rng, hostile):
    """Σ a_i / (M_ii + eps) + ⟨C, M⟩, infinite at M = 0 where eps = 0."""
    n = order(rng)
    a = 10.0 ** (rng.uniform(-4, 4, n) if hostile else rng.uniform(-1, 1, n))
    eps = 0.0 if rng.random() < 0.5 else float(10.0 ** rng.uniform(-9, 0))
    C = spectrum(rng, hostile, n, True)
    return AutogradProblem(lambda M: anp.sum(a / (anp.diag(M) + eps)) + anp.sum(C * M), n, convex=True)


def soft(rng, hostile):
    """Σ log(1 + exp(⟨A_t, M⟩ − b_t)) + c tr M: smooth, not quadratic, flat far away."""
    n, m = order(rng), 8
    A = np.array([spectrum(rng, hostile and rng.random() < 0.3, n) for _ in range(m)])
    A, b = A / np.abs(A).max(), rng.standard_normal(m)
    c = float(10.0 ** rng.uniform(-4, 0))

    def value(M):
        z = anp.tensordot(A, M, 2) - b
        return anp.sum(anp.maximum(z, 0.0) + anp.log1p(anp.exp(-anp.abs(z)))) + c * anp.trace(M)

    return AutogradProblem(value, n, convex=True)


def triplets(rng, hostile):
    n, m = order(rng), 12
    X = samples(rng, hostile, m, n)
    t = np.array([rng.choice(m, 3, replace=False) for _ in range(15)])
    hinge = MeasuredTerm(TripletDifferences(t[:, 0], t[:, 1], t[:, 2], X), SquaredHinge(np.ones(len(t))))
    return TermSum([hinge, LinearTerm(np.eye(n), float(10.0 ** rng.uniform(-4, 1)))])


#: Unbounded on the cone.
FIXED_ONLY = {"linear"}
#: A run takes ten times as long as of the others.
DEAR = {"barrier", "hinges", "soft"}
FAMILIES: dict[str, Family] = {f.__name__: f for f in (
    projection, quadratic, kta, linearity, regression, hinges, completion, offdiagonal, pairwise, linear, definite,
    barrier, soft, triplets,
)}  # fmt: skip


# Units, weights, repetitions, one class, order one, no minimum: the edges of what data can be.


def any_order(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 7))


def few_entries(rng: np.random.Generator, hostile: bool) -> Problem:
    """A fit to one to four entries, some of them negative on the diagonal; hostile: of sizes 1e±6."""
    n = any_order(rng)
    i, j = np.triu_indices(n)
    chosen = rng.choice(len(i), min(int(rng.integers(1, 5)), len(i)), replace=False)
    targets = rng.standard_normal(len(chosen)) * (10.0 ** rng.uniform(-6, 6, len(chosen)) if hostile else 1.0)
    if rng.random() < 0.5:
        return EntryFit(sp.csr_array((n, n)), i[chosen], j[chosen], targets)
    return TermSum([MeasuredTerm(Entries(i[chosen], j[chosen], n), LeastSquares(targets))])


def weighted(rng: np.random.Generator, hostile: bool) -> Problem:
    """Quadratic forms with weights over 16 decades, some of them zero."""
    n, m = any_order(rng), int(rng.integers(1, 20))
    w = 10.0 ** rng.uniform(-8, 8, m) if hostile else rng.uniform(0.1, 2.0, m)
    w[rng.random(m) < 0.2] = 0.0
    w[0] = max(w[0], 1.0)
    forms = QuadraticForms(rng.standard_normal((m, n)))
    return TermSum([MeasuredTerm(forms, LeastSquares(rng.uniform(-1, 3, m), w)), LinearTerm(np.eye(n), 1e-3)])


def repeated(rng: np.random.Generator, hostile: bool) -> Problem:
    """Targets that are all equal, of samples that occur twice; hostile: samples of zeros too."""
    n, m = any_order(rng), int(rng.integers(1, 10))
    X = np.repeat(rng.standard_normal((m, n)), 2, axis=0)
    if hostile:
        X[rng.random(len(X)) < 0.4] = 0.0
    target = float(rng.choice([0.0, 1.0, -1.0, 1e-6]))
    return TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(np.full(len(X), target)))])


def same_pairs(rng: np.random.Generator, hostile: bool) -> Problem:
    """Distances of samples, many of them equal, to bounds from above and below that may contradict each other."""
    n, m = any_order(rng), 8
    X = rng.standard_normal((m, n)) * (10.0 ** rng.uniform(-5, 5) if hostile else 1.0)
    X[m // 2 :] = X[: m - m // 2] if rng.random() < 0.5 else X[0]
    i, j = np.triu_indices(m, 1)
    sign = rng.choice([-1.0, 1.0], len(i))
    loss = SquaredHinge if rng.random() < 0.5 else HalfSquaredOneSided
    hinge = MeasuredTerm(PairDistances(i, j, X), loss(sign * 1.0, sign))
    return TermSum([hinge, LinearTerm(np.eye(n), float(10.0 ** rng.uniform(-6, 1)))])


def one_class(rng: np.random.Generator, hostile: bool) -> Problem:
    """Kernel target alignment with one sample of a second class, or pairs that are all alike."""
    n, m = any_order(rng), 12
    X = rng.standard_normal((m, n)) + (10.0 ** rng.uniform(0, 5) if hostile else 0.0)
    if rng.random() < 0.5:
        return kta_problem(X, np.arange(m) == 0, 0.1)
    kind = int(rng.choice([-1, 1]))
    pairs = np.array([(i, i + 1, kind) for i in range(m - 1)])
    return linearity_problem(X, pairs, float(10.0 ** rng.uniform(-2, 1)))


def units(rng: np.random.Generator, hostile: bool) -> Problem:
    """A well-conditioned quadratic whose values and matrices are in units of 1e±60; hostile: 1e±140."""
    n, most = any_order(rng), 140.0 if hostile else 60.0
    value, matrix = 10.0 ** rng.uniform(-most, most), 10.0 ** rng.uniform(-0.25 * most, 0.25 * most)
    K = rng.standard_normal((n, n))
    return QuadraticSDP(None, value / matrix**2, (K + K.T) * (value / matrix))


def far_trace(rng: np.random.Generator, hostile: bool) -> Problem:
    """A separable quadratic whose minimiser has eigenvalues over ten (hostile: twenty) decades."""
    n, decades = any_order(rng), 20.0 if hostile else 10.0
    b = 10.0 ** rng.uniform(-decades, 0, n)
    return QuadraticSDP(B=np.diag(b), C=np.diag(-np.sqrt(b) * rng.uniform(0.1, 1.0, n) * rng.choice([1.0, 1e-3], n)))


def separable(rng: np.random.Generator, hostile: bool) -> Problem:
    """Logistic losses that tend to their infimum at infinity, with a weight of the trace that may be 1e-12 or 0."""
    n, m = any_order(rng), 6
    X = rng.standard_normal((m, n)) * (10.0 ** rng.uniform(-4, 4) if hostile else 1.0)
    c = float(rng.choice([0.0, 1e-12, 1e-3]))
    return AutogradProblem(
        lambda M: anp.sum(anp.log1p(anp.exp(-anp.sum(anp.dot(X, M) * X, axis=1)))) + c * anp.trace(M), n, convex=True
    )


def plateau(rng: np.random.Generator, hostile: bool) -> Problem:
    """Squared hinges that a whole set of matrices meets: minimisers without end, F = 0 there."""
    n, m = any_order(rng), 5
    X = rng.standard_normal((m, n)) * (10.0 ** rng.uniform(-6, 6) if hostile else 1.0)
    return TermSum([MeasuredTerm(QuadraticForms(X), SquaredHinge(10.0 ** rng.uniform(-3, 3, m)))])


def falling(rng: np.random.Generator, hostile: bool) -> Problem:
    """A quadratic that is flat where its linear term falls: no minimum on the cone."""
    n = 1 + any_order(rng)
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
EXTREMES: dict[str, Family] = {f.__name__: f for f in (
    few_entries, weighted, repeated, same_pairs, one_class, units, far_trace, separable, plateau, falling,
)}  # fmt: skip
