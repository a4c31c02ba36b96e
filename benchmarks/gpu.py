"""Steps on a GPU beside the bare products that they are made of: KTA, leading eigenpairs, pairs.

    python -m benchmarks gpu                  # PyTorch on CUDA; --library cupy
    python -m benchmarks gpu --quick          # small sizes, on the CPU where there is no GPU
    python -m benchmarks gpu --device cpu     # PyTorch on the CPU: counts are those of a GPU, seconds are not

Exit code 4 where no device is found. A step of KTA makes one product with X (m, d) and one with Xᵀ, for a block of r
columns; a step towards leading eigenpairs one product with K (n, n). What a step takes beside them is the rest of the
method: sums, combinations of blocks, the preconditioner, and numbers on their way to the host. Below each time are the
counts that decide it on a GPU: how often a step waits for the device, how many small arrays it sends, how many
operations it launches (PyTorch only), and the host's time for a step of the same rank at a small order.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from psdopt import ConjugateGradient, FlatQuotient, Problem, solve
from psdopt.contracts.images import Images
from psdopt.devices import Device, DeviceArray, as_data, device_of, held, indices_on
from psdopt.terms import PairDistances
from psdopt_plugins.metric_learning import kta_problem
from psdopt_plugins.spectral import topk_problem

#: What `main` returns where no device is found.
NO_DEVICE = 4
#: Steps before the clock starts: what is made once is made by then.
WARM = 3
#: Steps that are counted.
COUNTED = 12
REPEATS = 10


@dataclass(frozen=True)
class Sizes:
    """KTA: X (m, d), rank r. Leading eigenpairs: K (n, n), k columns. Pairs: p of rows (N, w)."""

    m: int
    d: int
    r: int
    n: int
    k: int
    p: int
    rows: int
    w: int
    steps: int


FULL = Sizes(m=60_000, d=2_000, r=50, n=12_000, k=80, p=10_000_000, rows=1_000_000, w=20, steps=60)
QUICK = Sizes(m=600, d=40, r=4, n=120, k=4, p=3_000, rows=500, w=5, steps=12)


def sample(library: str, quick: bool, place: str = "auto") -> Any | None:
    """A small array of the library on its GPU; None without one. PyTorch's is on the CPU with `quick` or for "cpu"."""
    try:
        module = importlib.import_module(library)
        if library == "cupy":
            return module.zeros(1) if place != "cpu" else None
        if module.cuda.is_available() and place != "cpu":
            return module.zeros(1, device="cuda")
        return module.zeros(1) if place == "cpu" or (quick and place == "auto") else None
    except Exception:  # no such library, or a driver that does not start
        return None


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="gpu", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--library", choices=("torch", "cupy"), default="torch")
    parser.add_argument("--quick", action="store_true", help="small sizes; PyTorch then runs on the CPU if need be")
    parser.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto", help="where PyTorch computes")
    options = parser.parse_args(argv)
    array = sample(options.library, options.quick, options.device)
    if array is None:
        print(f"No device found: {options.library} is not installed, or sees no GPU.")
        return NO_DEVICE
    device = device_of(array)
    assert device is not None
    sizes = QUICK if options.quick else FULL
    print(f"{device}; float64")
    kta(device, sizes)
    leading(device, sizes)
    pairs(device, sizes)
    return 0


def alignment(device: Device, m: int, d: int) -> tuple[Any, Problem]:
    """X (m, d) on the device, and its KTA."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((m, d)), rng.integers(10, size=m)
    X[:, :10] += np.eye(10)[y]
    there = device.send(X)
    return there, kta_problem(there, y, 1e-9, gram=False)


def eigenpairs(device: Device, n: int, k: int) -> tuple[Any, Problem]:
    """A symmetric K (n, n) on the device, and the problem of its k leading eigenpairs."""
    K = np.random.default_rng(1).standard_normal((n, n))
    there = device.send(K + K.T)
    return there, topk_problem(there, k)


def kta(device: Device, sizes: Sizes) -> None:
    rng = np.random.default_rng(0)
    there, problem = alignment(device, sizes.m, sizes.d)
    data, D = as_data(held(there)), held(device.send(rng.standard_normal((sizes.d, sizes.r))))
    bare = seconds(lambda: data.T @ (data @ D))
    report("KTA", f"X ({sizes.m}, {sizes.d}), rank {sizes.r}", step_seconds(problem, sizes.r, sizes.steps), bare)
    host_share(device, problem, alignment(device, 2 * sizes.r + 20, sizes.r + 10)[1], sizes.r)


def leading(device: Device, sizes: Sizes) -> None:
    rng = np.random.default_rng(1)
    there, problem = eigenpairs(device, sizes.n, sizes.k)
    data, D = as_data(held(there)), held(device.send(rng.standard_normal((sizes.n, sizes.k))))
    bare = seconds(lambda: data @ D)
    report("leading eigenpairs", f"order {sizes.n}, k = {sizes.k}", step_seconds(problem, sizes.k, sizes.steps), bare)
    host_share(device, problem, eigenpairs(device, sizes.k + 10, sizes.k)[1], sizes.k)


def pairs(device: Device, sizes: Sizes) -> None:
    """Distances along a line and their adjoint, beside gathers of the rows that the pairs touch."""
    rng = np.random.default_rng(2)
    i = rng.integers(sizes.rows, size=sizes.p)
    j = (i + 1 + rng.integers(sizes.rows - 1, size=sizes.p)) % sizes.rows
    measurement = PairDistances(i, j, n=sizes.rows)
    Y, D = (held(device.send(rng.standard_normal((sizes.rows, sizes.w)))) for _ in range(2))
    U, V, ends = Images((), Y), Images((), D), indices_on(device, i)
    weights = measurement.pair(U, U)
    size = f"{sizes.p} pairs of {sizes.rows} rows, {sizes.w} columns"
    bare = seconds(lambda: Y.take(ends, axis=0))
    report("pairs along a line", size, seconds(lambda: measurement.along(U, V)[1]), bare, "one gather")
    report("their adjoint", size, seconds(lambda: measurement.adjoint(weights, U)[0][1]), bare, "one gather")


#: Operations of PyTorch that give the device no work.
FREE = ("view", "reshape", "permute", "t.", "transpose", "detach", "lift_fresh", "slice", "select", "unsqueeze")


@contextmanager
def launches() -> Iterator[Callable[[], int]]:
    """How many operations PyTorch has given to the device in this context so far; always 0 with another library."""
    count = 0
    if "torch" not in sys.modules:
        yield lambda: count
        return
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counted(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), options: Any = None) -> Any:
            nonlocal count
            count += not str(function).removeprefix("aten.").startswith(FREE)
            return function(*args, **(options or {}))

    with Counted():
        yield lambda: count


def host_share(device: Device, problem: Problem, small: Problem, rank: int) -> None:
    """What a step of conjugate gradient on `problem` asks of the device, and what one on `small` takes."""
    seen: list[tuple[int, int, int]] = []
    with launches() as launched:

        def watch(snapshot: Any) -> None:
            seen.append((device.transfers.to_host, device.transfers.to_device, launched()))

        solve(problem, FlatQuotient(problem.n, rank), ConjugateGradient(), max_iterations=COUNTED, tol=1e-14,
              callback=watch)  # fmt: skip
    waits, sent, work = (int(number) for number in np.median(np.diff(seen, axis=0)[WARM:], axis=0))
    print(f"    a step waits for the device {waits} times, sends {sent} small arrays, launches {work} operations;")
    marks: list[float] = []
    solve(small, FlatQuotient(small.n, rank), ConjugateGradient(), max_iterations=COUNTED, tol=1e-14,
          callback=lambda snapshot: marks.append(time.process_time()))  # fmt: skip
    print(f"    at order {small.n} the host takes {1e6 * np.median(np.diff(marks)[WARM:]):.0f} µs for it")


def step_seconds(problem: Problem, rank: int, steps: int) -> float:
    """Median time of a step of conjugate gradient, after the first ones."""
    result = solve(problem, FlatQuotient(problem.n, rank), ConjugateGradient(), max_iterations=steps, tol=1e-14)
    return float(np.median(np.diff(result.history["seconds"])[WARM:]))


def seconds(compute: Callable[[], DeviceArray]) -> float:
    """Mean time of a product whose device is kept busy: one number is fetched at the end."""
    waited(compute())
    start = time.perf_counter()
    for _ in range(REPEATS):
        product = compute()
    waited(product)
    return (time.perf_counter() - start) / REPEATS


def waited(product: DeviceArray) -> float:
    """An entry of the product: it is there when all work before it is done."""
    flat = product.ravel()
    return flat[:1].sum()


def report(name: str, size: str, found: float, bare: float, what: str = "the bare products") -> None:
    print(f"{name}: {size}: {1e3 * found:.3g} ms, {found / bare:.2g} times {what} ({1e3 * bare:.3g} ms)")


if __name__ == "__main__":
    raise SystemExit(main())
