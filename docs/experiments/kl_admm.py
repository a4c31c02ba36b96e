"""Figures 1 to 4 of Hu and Kwok. Run: PSDOPT_DATA=folder python docs/experiments/kl_admm.py NAME...

NAME is convergence, residuals, patterns or constraints. Data and baselines are those of `psdopt bench kl_admm`; the
figures go to `figures/`. Seconds are CPU seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from kl_admm_peers import simple_npkl
from kl_admm_sets import GAMMA, gaussians, instance, samples, timed
from kl_admm_speed import seconds_by_size

from psdopt import ADMM, BILGO, FlatQuotient, PSDCone, solve
from psdopt.plotting.style import COLOURS, MARKERS

mpl.use("Agg")
import matplotlib.pyplot as plt

FIGURES = Path(__file__).parent / "figures"
METHODS = (
    ("default: splitting, then polish", ADMM()),
    ("splitting alone, rho auto", ADMM(polish=None)),
    ("splitting alone, rho 100 adapted", ADMM(rho=100.0, polish=None)),
    ("splitting alone, rho 100 fixed", ADMM(rho=100.0, adapt=False, polish=None)),
)


def runs(iterations=300):
    """(data set, F*, F(0), [(label, history)]) for soybean and glass."""
    for name in ("soybean_small", "glass"):
        rng = np.random.default_rng(0)
        problem, _, r = instance(*samples(name, rng), rng)
        geometry = FlatQuotient(problem.n, r)
        best = solve(problem, geometry, ADMM(), rng=0, tol=1e-8, max_iterations=5000).value
        found = [
            (label, solve(problem, geometry, method, rng=0, tol=1e-7, max_iterations=iterations).history)
            for label, method in METHODS
        ]
        yield name.removesuffix("_small"), best, problem.value_at_zero(), found


def convergence():
    """Figure 1: relative distance to the global value."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
    for axis, (name, best, zero, found) in zip(axes, runs(), strict=True):
        for k, (label, history) in enumerate(found):
            error = (history["value"] - best) / (zero - best)
            axis.semilogy(np.maximum(error, 1e-13), color=COLOURS[k], label=label)
            if k == 0:
                switch = np.flatnonzero(history["phase"] == 0.0)[-1]
                axis.plot(switch, error[switch], "o", color=COLOURS[0], ms=5)
        axis.axvline(25, color="0.8", lw=0.8, zorder=0)
        axis.set(title=name, xlabel="iteration", xlim=(0, 300))
    axes[0].set_ylabel("(F − F*) / (F(0) − F*)")
    axes[1].legend(fontsize=8)
    save(figure, "convergence")


def residuals():
    """Figure 2: primal and dual residuals of the splitting."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
    for axis, (name, _, _, found) in zip(axes, runs(), strict=True):
        for k in (1, 2, 3):
            label, history = found[k]
            axis.semilogy(history["primal_residual"], color=COLOURS[k], label=f"primal, {label.split(', ')[1]}")
            axis.semilogy(history["dual_residual"], "--", color=COLOURS[k], label=f"dual, {label.split(', ')[1]}")
        axis.set(title=name, xlabel="iteration", xlim=(0, 300))
    axes[0].set_ylabel("|V − U| and rho |U⁺ − U|")
    axes[1].legend(fontsize=8, ncol=2)
    save(figure, "residuals")


def curve(axis, k, points, label):
    """A line through (x, seconds), of which there may be none."""
    if points:
        axis.loglog(*np.transpose(points), marker=MARKERS[k], color=COLOURS[k], label=label, ms=5)


def label_ticks(axis, x):
    """The sizes that were run on the x axis, 1, 2 and 5 times powers of ten on the other, more within one power."""
    axis.minorticks_off()
    axis.set_xticks(x, [f"{value:,}" for value in x])
    low, high = axis.get_ylim()
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    steps = (1, 2, 5) if high > 10 * low else (1, 1.5, 2, 3, 5, 7)
    ticks = np.concatenate([step * decades for step in steps])
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_ylim(low, high)
    axis.legend(fontsize=8)


def least(run, turns=3):
    """(result, CPU seconds) of the fastest of several runs: a shared machine has slow seconds."""
    return min((timed(run) for _ in range(turns)), key=lambda found: found[1])


def race(problem, L, r, baselines, limit=60.0):
    """Seconds of each solver to the end of its run; None for those left out or stopped by the limit."""
    n = problem.n
    problem.split()
    result, seconds = least(lambda: solve(problem, FlatQuotient(n, r), ADMM(), rng=0))
    grown, fewer = least(lambda: solve(problem, FlatQuotient(n, 6), ADMM(), rng=0, escape=True))
    row = [seconds if result.optimal else None, fewer if grown.optimal else None, None, None]
    if baselines:
        hybrid, spent = least(lambda: solve(problem, PSDCone(n), BILGO(), rng=0, max_time=limit))
        row[2] = spent if hybrid.optimal else None
        row[3] = timed(lambda: simple_npkl(problem, L, GAMMA, 30.0 * n, max_iterations=100))[1] if n <= 500 else None
    print(n, r, len(problem.i) - n, ["-" if x is None else round(x, 2) for x in row], result.iterations,
          grown.iterations, grown.matrix.factor.shape[1], flush=True)  # fmt: skip
    return row


#: Baselines run up to n = 1,000, SimpleNPKL (two eigendecompositions an iteration) up to 500.
LABELS = ("ADMM, rank by the paper's rule", "ADMM, adaptive rank", "BILGO (hybrid)", "SimpleNPKL, 100 iterations")


def patterns():
    """Figure 3: seconds against n, 1,000 pairs; and one iteration at fixed pairs per pattern."""
    rows = {}
    for n in (250, 500, 1000, 2000, 4000):
        rng = np.random.default_rng(0)
        problem, L, r = instance(*gaussians(rng, n), rng, count=500)
        rows[n] = race(problem, L, r, n <= 1000)
    found = seconds_by_size((1000, 2000, 5000, 10_000, 20_000, 50_000))
    spent = {n: 1e3 * seconds for n, (_, seconds) in found.items()}
    print(", ".join(f"{n}: {ms:.2f} ms" for n, ms in spent.items()), flush=True)
    draw_patterns(rows, spent)


def draw_patterns(rows, spent):
    """The two panels of figure 3 from {n: seconds of each solver} and {n: milliseconds}."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
    for k, label in enumerate(LABELS):
        curve(left, k, [(n, row[k]) for n, row in rows.items() if row[k] is not None], label)
    sizes, times = np.array(list(spent)), np.array(list(spent.values()))
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"exponent {exponent:.2f}")
    curve(right, 0, list(spent.items()), f"r = 30, 1.2 pairs per pattern: exponent {exponent:.2f}")
    right.loglog(sizes, times[0] * sizes / sizes[0], "--", color="0.6", label="linear")
    left.set(xlabel="n", ylabel="seconds to the end of the run", title="1,000 pairs")
    right.set(xlabel="n", ylabel="ms per splitting iteration", title="pairs in proportion to n")
    label_ticks(left, list(rows))
    label_ticks(right, list(spent))
    save(figure, "patterns")


def constraints():
    """Figure 4: seconds against the number of pairs, n = 1,000; the rank grows with it."""
    rows = {}
    for count in (250, 500, 1000, 2000, 4000):
        rng = np.random.default_rng(0)
        problem, L, r = instance(*gaussians(rng, 1000), rng, count=count / 2)
        rows[count] = race(problem, L, r, True)
    draw_constraints(rows)


def draw_constraints(rows):
    """Figure 4 from {pairs: seconds of each solver}."""
    figure, axis = plt.subplots(figsize=(6, 3.8))
    for k, label in enumerate(LABELS):
        curve(axis, k, [(count, row[k]) for count, row in rows.items() if row[k] is not None], label)
    axis.set(xlabel="pairs", ylabel="seconds to the end of the run", title="n = 1,000")
    label_ticks(axis, list(rows))
    save(figure, "constraints")


def save(figure, name):
    figure.tight_layout()
    figure.savefig(FIGURES / f"kl_admm_{name}.png", dpi=90)
    print("wrote", name)


if __name__ == "__main__":
    for name in sys.argv[1:] or ("convergence", "residuals", "patterns", "constraints"):
        {"convergence": convergence, "residuals": residuals, "patterns": patterns, "constraints": constraints}[name]()
