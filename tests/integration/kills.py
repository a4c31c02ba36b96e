"""Runs that are killed (kill -9) at random moments and resumed, against the same runs left alone.

``python -m tests.integration.kills --kills 60 --seed 0`` ends with status 1 where a resumed run differs in a bit.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import psdopt
from psdopt.terms import HalfSquaredOneSided, MeasuredTerm, PairDistances
from psdopt_plugins.kernel_learning import pairwise_kernel_problem
from psdopt_plugins.metric_learning import kta_problem

Case = tuple[Callable[[], psdopt.Problem], Callable[[], psdopt.Geometry], psdopt.Method]
STEPS = 60
#: A run that a child has not ended after so many seconds is killed where it is.
LONGEST = 20.0


def _kta() -> psdopt.Problem:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    return kta_problem(rng.standard_normal((60, 20)) + y[:, None], y, 0.01)


def _pairs() -> psdopt.Problem:
    rng = np.random.default_rng(1)
    n = 30
    L = np.diag(np.full(n, 2.0)) - np.eye(n, k=1) - np.eye(n, k=-1)
    pairs = np.array([(i, j) for i in range(n) for j in range(i) if rng.random() < 0.3])
    return pairwise_kernel_problem(L, pairs, rng.integers(0, 2, len(pairs)).astype(float), 1.0)


def _rows() -> psdopt.Problem:
    rng = np.random.default_rng(2)
    first = rng.integers(300, size=6_000)
    second = (first + 1 + rng.integers(299, size=6_000)) % 300
    pairs, far = PairDistances(first, second, rng.standard_normal((300, 6))), rng.exponential(10.0, 6_000)
    return psdopt.TermSum([MeasuredTerm(pairs, HalfSquaredOneSided(far), 1.0 / 6_000)])


CASES: dict[str, Case] = {
    "cg": (_kta, lambda: psdopt.FlatQuotient(20, 5), psdopt.ConjugateGradient()),
    "cg-polar": (_kta, lambda: psdopt.Polar(20, 4), psdopt.ConjugateGradient()),
    "cg-trace": (_kta, lambda: psdopt.FixedTrace(20, 5), psdopt.ConjugateGradient()),
    "lbfgs": (_kta, lambda: psdopt.FlatQuotient(20, 5), psdopt.LBFGS()),
    "block-cg": (_kta, lambda: psdopt.FlatQuotient(20, 5), psdopt.BlockConjugateGradient()),
    "trust-regions": (_kta, lambda: psdopt.FlatQuotient(20, 5), psdopt.TrustRegions()),
    "steepest": (_kta, lambda: psdopt.FlatQuotient(20, 5), psdopt.ConjugateGradient("none")),
    "projected": (_kta, lambda: psdopt.PSDCone(20), psdopt.ProjectedGradient()),
    "frank-wolfe": (_kta, lambda: psdopt.Spectraplex(20), psdopt.FrankWolfe()),
    "bilgo": (_kta, lambda: psdopt.PSDCone(20), psdopt.BILGO()),
    "pairs-cg": (_pairs, lambda: psdopt.FlatQuotient(30, 6), psdopt.ConjugateGradient()),
    "pairs-newton": (_pairs, lambda: psdopt.FlatQuotient(30, 30), psdopt.LagrangeNewton()),
    "samples": (_rows, lambda: psdopt.FlatQuotient(6, 6), psdopt.GrowingSamples()),
    "pairs-admm": (_pairs, lambda: psdopt.FlatQuotient(30, 30), psdopt.ADMM()),
}


def run(name: str, **options: object) -> psdopt.Result:
    problem, geometry, method = CASES[name]
    return psdopt.solve(problem(), geometry(), method, tol=1e-9, max_iterations=STEPS, rng=0, **options)  # type: ignore[arg-type]


def same(left: psdopt.Result, right: psdopt.Result) -> bool:
    """Equal bit by bit: matrix, value, status, history, but for seconds and work (images are made once more)."""
    work = "seconds", "passes"
    names = [name for name in left.history.columns if name not in work and not name.startswith("operator_")]
    return (
        np.array_equal(left.matrix.factor, right.matrix.factor)
        and left.value == right.value
        and left.status is right.status
        and left.iterations == right.iterations
        and all(np.array_equal(left.history[k], right.history[k], equal_nan=True) for k in names)
    )


def killed_run(name: str, path: Path, after: float) -> bool:
    """Run in a child that writes a checkpoint at every step; whether it was killed before its end."""
    child = os.fork()
    if child == 0:
        try:
            options = {"resume": path} if path.exists() else {}
            run(name, checkpoint=path, checkpoint_seconds=0.0, **options)
        finally:
            os._exit(0)
    end = time.perf_counter() + min(after, LONGEST)
    while time.perf_counter() < end:
        done, _ = os.waitpid(child, os.WNOHANG)
        if done:
            return False
        time.sleep(1e-3)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def examine(name: str, rng: np.random.Generator, whole: psdopt.Result, seconds: float, counts: Counter[str]) -> bool:
    """One to three kills, then resumed to the end, then resumed once more: both equal the run left alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.checkpoint"
        for _ in range(int(rng.integers(1, 4))):
            if not killed_run(name, path, float(rng.uniform(0.0, 1.0)) * seconds):
                counts["finished before the kill"] += 1
                break
            counts["kills"] += 1
            counts["kills before a checkpoint"] += not path.exists()
        options = {"resume": path} if path.exists() else {}
        resumed = run(name, checkpoint=path, **options)
        again = run(name, resume=path)
        left = [p for p in Path(folder).iterdir() if p != path]
        counts["files left behind"] += len(left)
        return same(whole, resumed) and same(whole, again)


def main(argv: Sequence[str] | None = None) -> int:
    """Kill and resume until `--kills` kills are done; 1 where a resumed run is another one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    options = parser.parse_args(argv)
    rng, counts, different = np.random.default_rng(options.seed), Counter[str](), []
    whole = {}
    for name in options.cases:
        with tempfile.TemporaryDirectory() as folder:
            for part in ("first", "timed"):  # the first run imports what a method needs; kills fall within the second
                begun = time.perf_counter()
                result = run(name, checkpoint=Path(folder) / part, checkpoint_seconds=0.0)
        whole[name] = result, time.perf_counter() - begun
        print(f"{name}: {result.status.label} after {result.iterations} steps, {whole[name][1]:.2f} s", flush=True)
    while counts["kills"] < options.kills:
        for name in options.cases:
            counts["runs"] += 1
            if not examine(name, rng, *whole[name], counts):
                different.append(name)
    print(f"{dict(counts)}; different: {different or 'none'}")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
