"""
The least value of a polynomial, by sums of squares
===================================================

A polynomial that is a sum of squares is nonnegative everywhere. With all
monomials z up to half the degree,

    p(x) − γ = zᵀMz,   M ⪰ 0,

holds if the entries of M that belong to the same monomial xᵅ sum to its
coefficient p_α. The largest such γ is a lower bound of p, often the least value
itself. The Gram matrix M is the unknown, its sums are linear constraints, and
M_11 = p_0 − γ is minimised. The multipliers are moments: they tell where p has
its minima.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, constraints, solve


def monomials(count, degree):
    """Exponents (k, count) of all monomials in `count` variables, 1 first."""
    powers = itertools.product(range(degree + 1), repeat=count)
    kept = [each for each in powers if sum(each) <= degree]
    return np.array(sorted(kept, key=lambda each: (sum(each), each)))


def gram(polynomial):
    """min p_0 − γ over Gram matrices of p − γ, and the exponents of z.

    p is {exponents: coefficient}.
    """
    count = len(next(iter(polynomial)))
    half = max(map(sum, polynomial)) // 2
    z = monomials(count, half)
    products = (z[:, None] + z[None]).reshape(-1, count)
    powers, place = np.unique(products, axis=0, return_inverse=True)
    places = place.reshape(len(z), len(z))
    rows = [k for k in range(len(powers)) if powers[k].any()]
    sums = [sp.csr_array((places == k).astype(float)) for k in rows]
    wanted = [polynomial.get(tuple(powers[k].tolist()), 0.0) for k in rows]
    first = sp.csr_array(([1.0], ([0], [0])), shape=(len(z), len(z)))
    problem = Constrained(
        QuadraticSDP(C=0.5 * first), constraints.sparse_forms(sums, wanted)
    )
    return problem, z


def value(polynomial, *x):
    return sum(
        c
        * np.prod(
            [np.power(u, e) for u, e in zip(x, powers, strict=True)], axis=0
        )
        for powers, c in polynomial.items()
    )


# %%
# The six-hump camel has six local minima, two of which are global. M has the
# order 10, and its bound is the value at the minima found below.
camel = {
    (2, 0): 4.0, (4, 0): -2.1, (6, 0): 1.0 / 3.0,
    (1, 1): 1.0, (0, 2): -4.0, (0, 4): 4.0,
}  # fmt: skip
problem, z = gram(camel)
result = solve(problem, tol=1e-9)
print(result)
print(f"p ≥ p_0 − F(M) = {-result.value:.7f}")

# %%
# The matrix S of the certificate is C + A*(y), whose entries are the moments
# E[zzᵀ] of a measure on the minima. Here x ↦ −x exchanges the two minima, so
# that the second moments of x have rank one and give them up to the sign.
S = result.certificate.slack()
S = S.toarray() if sp.issparse(S) else S
linear = [z.tolist().index(each) for each in ([1, 0], [0, 1])]
weights, directions = np.linalg.eigh(S[np.ix_(linear, linear)] / S[0, 0])
best = np.sqrt(weights[-1]) * directions[:, -1]
print(f"minima ±{best.round(6)}, second moments {weights.round(6)}")
print(f"value there {value(camel, *best):.7f}")

u, v = np.meshgrid(np.linspace(-2, 2, 201), np.linspace(-1.2, 1.2, 201))
figure, axes = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
levels = -1.0316 + np.geomspace(0.02, 6.0, 14)
axes.contour(u, v, value(camel, u, v), levels=levels, cmap="Blues_r")
axes.plot(*np.outer(best, [1, -1]), "o", color="#d03030", markersize=9)
axes.set(title="Six-hump camel: minima from moments", xlabel="x", ylabel="y")
plt.show()

# %%
# Motzkin's polynomial x⁴y² + x²y⁴ − 3x²y² + 1 is nonnegative, but no p − γ is a
# sum of squares: the constraints are proven to exclude each other. Times
# 1 + x² + y² it is one, which proves p ≥ 0.
motzkin = {(4, 2): 1.0, (2, 4): 1.0, (2, 2): -3.0, (0, 0): 1.0}
print(solve(gram(motzkin)[0]).message)
multiple = {}
for factor in ((0, 0), (2, 0), (0, 2)):
    for powers, c in motzkin.items():
        place = (powers[0] + factor[0], powers[1] + factor[1])
        multiple[place] = multiple.get(place, 0.0) + c
result = solve(gram(multiple)[0])
print(f"{result.status.label}: p (1 + x² + y²) ≥ {1.0 - result.value:.1e}")
