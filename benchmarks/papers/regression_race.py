"""Fixed-rank regression of Meyer et al. against pymanopt and L-BFGS-B; polar against flat per step."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pymanopt
from pymanopt.manifolds import PSDFixedRank
from pymanopt.optimizers import ConjugateGradient as PymanoptCG
from pymanopt.optimizers import SteepestDescent
from scipy.optimize import minimize

from benchmarks.papers.data import Array
from benchmarks.papers.regression_figures import toy
from benchmarks.reproduction.experiments import Comparison, Experiment, ExperimentCase, Findings, ResultTable
from psdopt import ConjugateGradient, FlatQuotient, Geometry, LowRankPSD, Polar, solve
from psdopt_plugins.regression import psd_regression_problem

GAP = 1e-6
PEERS = {"pymanopt SteepestDescent": SteepestDescent, "pymanopt ConjugateGradient": PymanoptCG}
LBFGSB = "scipy L-BFGS-B"
SOLVERS = ("psdopt, flat", "psdopt, polar", LBFGSB, *PEERS)


def against_pymanopt() -> Experiment:
    """Seconds to a relative cost gap of 1e-6: samples, and pairs of samples."""
    return Experiment(_race_cases, _measure_race, _present_race)


def polar_against_flat() -> Experiment:
    """Seconds per pass on 2007 samples, 100,000 constraints (section 10.2.4)."""
    return Experiment(_kernel_cases, _measure_kernel, _present_kernel)


def _race_cases(quick: bool) -> list[ExperimentCase]:
    if quick:
        return [ExperimentCase("d = 10, r = 3, m = 500", {"d": 10, "r": 3, "m": 500, "samples": None, "budget": 0.5})]
    return [
        ExperimentCase("d = 50, r = 10, m = 80,000", {"d": 50, "r": 10, "m": 80_000, "samples": None, "budget": 30.0}),
        ExperimentCase(
            "d = 617, r = 20, 100,000 pairs", {"d": 617, "r": 20, "m": 100_000, "samples": 7797, "budget": 40.0}
        ),
    ]


def _measure_race(case: ExperimentCase) -> dict[str, Any]:
    d, r, m, samples, budget = (case.settings[key] for key in ("d", "r", "m", "samples", "budget"))
    rng = np.random.default_rng(0)
    if samples is None:
        rows, y = toy(d, r, m, rng)
        problem = psd_regression_problem(rows, y)
    else:
        X = rng.standard_normal((samples, d)) * (np.arange(1, d + 1) ** -0.25)
        ends = rng.integers(samples, size=(2 * m, 2))
        ends = ends[ends[:, 0] != ends[:, 1]][:m]
        rows = X[ends[:, 0]] - X[ends[:, 1]]
        y = ((rows @ rng.standard_normal((d, r))) ** 2).sum(axis=1) * (1 + 0.1 * rng.standard_normal(m))
        problem = psd_regression_problem(X, y, ends)
    Y0 = np.random.default_rng(1).standard_normal((d, r))
    Y0 *= np.sqrt(y.mean() / np.mean(((rows[:2000] @ Y0) ** 2).sum(axis=1)))
    return _compare(rows, y, problem, Y0, budget)


def _compare(rows: Array, y: Array, problem: Any, Y0: Array, budget: float) -> dict[str, Any]:
    d, r = Y0.shape
    start = LowRankPSD(Y0)
    geometries: dict[str, Geometry] = {"psdopt, flat": FlatQuotient(d, r), "psdopt, polar": Polar(d, r)}
    best = min(
        solve(problem, g, ConjugateGradient(), start=start, tol=1e-9, max_iterations=400, max_time=4 * budget).value
        for g in geometries.values()
    )
    zero = problem.at(Y0).value
    target = best + GAP * (zero - best)
    found: dict[str, Any] = {}
    for name, geometry in geometries.items():
        begin = time.process_time()
        result = solve(
            problem,
            geometry,
            ConjugateGradient(),
            start=start,
            tol=1e-12,
            callback=lambda snapshot: snapshot.value <= target,
        )
        found[name] = [time.process_time() - begin, result.iterations, (result.value - best) / (zero - best)]
    for name in (LBFGSB, *PEERS):
        log: list[tuple[float, float]] = []
        cost, gradient = _hand_written(rows, y, log)
        begin = time.process_time()
        if name == LBFGSB:
            _quasi_newton(cost, gradient, Y0, begin + budget)
        else:
            PEERS[name](
                max_time=budget, max_iterations=100_000, min_gradient_norm=1e-30, min_step_size=0, verbosity=0
            ).run(_pymanopt_problem(cost, gradient, d, r), initial_point=Y0.copy())
        reached = [seconds - begin for seconds, value in log if value <= target]
        gap = (min(value for _, value in log) - best) / (zero - best)
        found[name] = [reached[0] if reached else log[-1][0] - begin, len(log), gap]
    return found


def _hand_written(rows: Array, y: Array, log: list[tuple[float, float]]) -> tuple[Any, Any]:
    """Cost and gradient; every cost is logged with its time."""
    m = len(y)

    def cost(Y: Array) -> float:
        Z = rows @ Y
        residual = np.einsum("ij,ij->i", Z, Z) - y
        value = 0.5 * float(residual @ residual) / m
        log.append((time.process_time(), value))
        return value

    def gradient(Y: Array) -> Array:
        Z = rows @ Y
        residual = np.einsum("ij,ij->i", Z, Z) - y
        return np.asarray(2.0 * (rows.T @ (residual[:, None] * Z)) / m)

    return cost, gradient


def _quasi_newton(cost: Any, gradient: Any, Y0: Array, deadline: float) -> None:
    """SciPy's L-BFGS-B on vec(Y), its tolerances off, until the processor time `deadline`."""

    def stop(_: Array) -> None:
        if time.process_time() > deadline:
            raise StopIteration

    def both(x: Array) -> tuple[float, Array]:
        Y = x.reshape(Y0.shape)
        return cost(Y), gradient(Y).ravel()

    callback: Any = stop
    options: Any = {"maxiter": 10**6, "maxfun": 10**7, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
    minimize(both, Y0.ravel(), jac=True, method="L-BFGS-B", callback=callback, options=options)


def _pymanopt_problem(cost: Any, gradient: Any, d: int, r: int) -> Any:
    manifold = PSDFixedRank(d, r)
    wrap: Any = pymanopt.function.numpy(manifold)
    return pymanopt.Problem(manifold, wrap(cost), euclidean_gradient=wrap(gradient))


def _present_race(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows: list[tuple[str, ...]] = []
    facts: dict[str, str] = {}
    for k, (name, found) in enumerate(measured.items()):
        for solver in SOLVERS:
            seconds, work, gap = found[solver]
            late = gap > 2 * GAP
            ratios = [f"{'> ' if late else ''}{seconds / found[own][0]:.1f}" for own in SOLVERS[:2]]
            shown = f"gap {gap:.0e} after {seconds:.1f}" if late else f"{seconds:.2f}"
            rows.append((name, solver, shown, str(work), *(ratios if solver in SOLVERS[2:] else ("", ""))))
        ours, theirs = max(found[s][0] for s in SOLVERS[:2]), min(found[s][0] for s in SOLVERS[2:])
        facts[f"least-{k}"] = f"{theirs / ours:.1f}"
    columns = ("problem", "solver", "seconds", "steps or costs", "times flat", "times polar")
    caption = "Processor seconds to a relative cost gap of 1e-6"
    return Findings((ResultTable(caption, columns, tuple(rows)),), facts=facts)


def _kernel_cases(quick: bool) -> list[ExperimentCase]:
    n, m, r, steps = (200, 1000, 6, 10) if quick else (2007, 100_000, 25, 60)
    return [ExperimentCase(f"n = {n}, rank {r}", {"n": n, "m": m, "r": r, "steps": steps})]


def _measure_kernel(case: ExperimentCase) -> dict[str, Any]:
    n, m, r, steps = (case.settings[key] for key in ("n", "m", "r", "steps"))
    rng = np.random.default_rng(0)
    G = rng.standard_normal((n, 40)) * (np.arange(1, 41) ** -0.5)
    ends = rng.integers(n, size=(2 * m, 2))
    ends = ends[ends[:, 0] != ends[:, 1]][:m]
    squared = ((G[ends[:, 0]] - G[ends[:, 1]]) ** 2).sum(axis=1)
    direction = np.where(rng.random(m) < 0.3, 1.0, -1.0)
    problem = psd_regression_problem(None, squared * (1 - 0.5 * direction), ends, direction, n=n)
    found = {}
    for name, geometry in (("flat", FlatQuotient(n, r)), ("polar", Polar(n, r))):
        begin = time.process_time()
        result = solve(
            problem, geometry, ConjugateGradient(), start=LowRankPSD(G[:, :r]), tol=1e-12, max_iterations=steps
        )
        found[name] = (time.process_time() - begin) / max(result.iterations, 1)
    return found


def _present_kernel(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows, comparisons = [], []
    for name, found in measured.items():
        ratio = found["polar"] / found["flat"]
        rows.append((name, f"{1e3 * found['flat']:.1f}", f"{1e3 * found['polar']:.1f}", f"{ratio:.2f}"))
        if name.startswith("n = 2007"):
            comparisons.append(Comparison("seconds of polar over flat (the paper at rank 6)", ratio, 47.30 / 3.25))
    columns = ("constraints among", "flat, ms per step", "polar, ms per step", "polar / flat")
    return Findings((ResultTable("Processor time of a step", columns, tuple(rows)),), tuple(comparisons))
