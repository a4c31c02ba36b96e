"""
Loops of programs, warm
=======================

Three loops solve programs that change little from one to the next: bisection on a bound, a receding horizon whose
data move, and cutting planes that add constraints. ``solve(start=, dual=)`` begins each program at the last answer.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, constraints, solve

n, rng = 24, np.random.default_rng(0)
W = np.triu(rng.random((n, n)) < 0.3, 1) * rng.uniform(0.5, 1.5, (n, n))
W = W + W.T
laplacian = np.diag(W.sum(axis=1)) - W
cut = QuadraticSDP(C=-laplacian / 8)  # F(M) = ⟨2 C, M⟩, minus the weight cut
signs = constraints.diagonal(n, 1.0)


def bisection():
    """The most balanced cut relaxation that keeps 98 % of the weight."""
    most = yield Constrained(cut, signs)
    low, high = 0.0, float(most.matrix.to_dense().sum())
    for _ in range(8):
        middle = (low + high) / 2
        balance = constraints.sparse_forms([np.ones((n, n))], upper=middle)
        result = yield Constrained(cut, [signs, balance])
        if result.value <= 0.98 * most.value:
            high = middle
        else:
            low = middle


def receding_horizon():
    """Weights that drift, over the same graph; nearly balanced cuts."""
    balance = constraints.sparse_forms([np.ones((n, n))], upper=n**2 / 30)
    drift = W * rng.standard_normal((n, n))
    for t in range(9):
        here = W + 0.02 * t * (drift + drift.T)
        moved = np.diag(here.sum(axis=1)) - here
        yield Constrained(QuadraticSDP(C=-moved / 8), [signs, balance])


def cutting_planes():
    """Triangle inequalities, the twenty most violated ones in each round."""
    i, j, k = np.array(
        [(i, j, k) for k in range(n) for j in range(k) for i in range(j)]
    ).T
    rows, groups = [], [signs]
    for _ in range(6):
        result = yield Constrained(cut, groups)
        M = result.matrix.to_dense()
        worst = []
        for a, b, c in [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]:
            off = 1 + a * M[i, j] + b * M[i, k] + c * M[j, k]
            worst += [
                (off[t], i[t], j[t], k[t], a, b, c)
                for t in np.flatnonzero(off < -1e-3)
            ]
        for _, p, q, r, a, b, c in sorted(worst)[:20]:
            entries = np.array([a, b, c]) / 2
            A = sp.coo_array((entries, ([p, p, q], [q, r, r])), shape=(n, n))
            rows.append(sp.csr_array(A + A.T))
        if rows:
            groups = [signs, constraints.sparse_forms(rows, lower=-1.0)]


def run(loop, warm):
    """(results, seconds) of all programs of a loop."""
    programs, results, seconds = loop(), [], []
    problem = next(programs)
    while True:
        begin = {}
        if warm and results:
            known = results[-1].certificate.constraints.multipliers
            new = np.zeros(max(0, problem.m - len(known)))  # of added rows
            begin["dual"] = np.append(known, new)[: problem.m]
            begin["start"] = results[-1].matrix
        begun = time.process_time()
        results.append(solve(problem, **begin))
        seconds.append(time.process_time() - begun)
        try:
            problem = programs.send(results[-1])
        except StopIteration:
            return results, seconds


loops = {}
for loop in (bisection, receding_horizon, cutting_planes):
    rng = np.random.default_rng(1)
    cold, of_cold = run(loop, warm=False)
    rng = np.random.default_rng(1)
    warm, of_warm = run(loop, warm=True)
    loops[loop.__name__.replace("_", " ")] = cold, warm
    print(
        f"{loop.__name__:17s} {len(cold)} programs, proven {sum(r.optimal for r in warm)};",
        f"steps {sum(r.iterations for r in cold[1:])} cold,",
        f"{sum(r.iterations for r in warm[1:])} warm; time ×",
        f"{sum(of_warm[1:]) / sum(of_cold[1:]):.2f}",
    )

# %%
# Steps of each program. The first one is cold in both. What is left of the time is what any program costs: its
# structure is analysed anew, and its answer is proven.
figure, panels = plt.subplots(
    1, 3, figsize=(9, 3.2), layout="constrained", sharey=True
)
for panel, (name, (cold, warm)) in zip(panels, loops.items(), strict=True):
    panel.plot([r.iterations for r in cold], "o-", color="0.6", label="cold")
    panel.plot(
        [r.iterations for r in warm], "o-", color="#1f6f8b", label="warm"
    )
    panel.set(title=name, xlabel="program", ylim=(0, 20))
panels[0].set(ylabel="steps", yticks=range(0, 21, 5))
panels[0].legend()
plt.show()
