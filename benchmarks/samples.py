"""Growing samples: passes over all pairs until F(M) is proven to be near its minimum.

    python -m benchmarks samples --pairs 10000000

writes samples of 50 columns, pairs of them and noisy distances of the pairs to a temporary folder (unless --folder
names one, which is kept), learns the metric from these files, and prints after each step: the share of the pairs in the
sample, gradients of all pairs so far (those of samples by their shares; a gradient is a product with the pairs and one
with their transpose), readings of the file of samples, the proven gap over its unit, and processor seconds. --parts
divides the pairs among as many parts of a sum, --sided asks for bounds in place of distances, and --through reads the
samples from another kind of file, made from the first.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from psdopt import FlatQuotient, GrowingSamples, Problem, ProvenGap, Result, TermSum, solve
from psdopt.linalg import linear_map
from psdopt.problems.distributed import Summed, even_slices, touched
from psdopt.terms import HalfSquaredOneSided, MeasuredTerm, PairDistances

COLUMNS, RANK, NOISE = 50, 12, 0.3
WRITTEN = 500_000
FILES = ("samples", "first", "second", "targets", "directions")


def make(folder: Path, pairs: int, sided: bool) -> None:
    """The files of FILES: about 50 pairs a sample, distances under an M of rank 12 with lognormal noise of 30 %."""
    rng, m = np.random.default_rng(0), max(pairs // 50, 100)
    X, L = rng.standard_normal((m, COLUMNS)), rng.standard_normal((COLUMNS, RANK)) / np.sqrt(COLUMNS)
    Z = X @ L
    kinds = (np.int32, np.int32, np.float64, np.float64)
    files = [
        np.lib.format.open_memmap(folder / f"{name}.npy", "w+", dtype=kind, shape=(pairs,))
        for name, kind in zip(FILES[1:], kinds, strict=True)
    ]
    np.save(folder / "samples.npy", X)
    for start in range(0, pairs, WRITTEN):
        count = min(WRITTEN, pairs - start)
        i = rng.integers(m, size=count)
        j = (i + 1 + rng.integers(m - 1, size=count)) % m
        d = np.sum((Z[i] - Z[j]) ** 2, axis=1) * np.exp(NOISE * rng.standard_normal(count))
        sides = np.where(rng.random(count) < 0.5, 1.0, -1.0) if sided else np.zeros(count)
        asked = np.where(sides > 0.0, RANK, 3.0 * RANK) if sided else d  # 2 RANK is the mean distance
        for file, values in zip(files, (i, j, asked, sides), strict=True):
            file[start : start + count] = values


def opened(folder: Path) -> list[Any]:
    return [np.load(folder / f"{name}.npy", mmap_mode="r") for name in FILES]


def samples(folder: Path, kind: str) -> Any:
    """The samples as a memory map, a Zarr or Dask array or a Parquet file."""
    X = np.load(folder / "samples.npy", mmap_mode="r")
    if kind == "zarr":
        import zarr

        return zarr.create_array(folder / "samples.zarr", data=np.asarray(X), chunks=(10_000, COLUMNS), overwrite=True)
    if kind == "dask":
        import dask.array

        return dask.array.from_array(X, chunks=(10_000, COLUMNS))
    if kind == "parquet":
        import pyarrow
        import pyarrow.parquet

        columns = {f"x{k}": X[:, k] for k in range(COLUMNS)}
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / "samples.parquet", row_group_size=10_000)
        return pyarrow.parquet.ParquetFile(folder / "samples.parquet")
    return X


def part(folder: Path, pairs: slice, count: int, kind: str | None = None) -> TermSum:
    """The mean of the losses of all pairs, as far as it comes from these `pairs`.

    `kind` : of the file of all samples; None for an array of those in the pairs.
    """
    X, i, j, targets, sides = opened(folder)
    ends = np.column_stack([i[pairs], j[pairs]])
    if kind is None:
        rows, ends = touched(ends)
        data = np.asarray(X[rows])
    else:
        data = samples(folder, kind)
    loss = HalfSquaredOneSided(targets[pairs], sides[pairs] if np.any(sides[pairs]) else 0.0)
    return TermSum([MeasuredTerm(PairDistances(ends[:, 0], ends[:, 1], linear_map(data)), loss, 1.0 / count)])


def problem_of(folder: Path, parts: int, kind: str = "map") -> Problem:
    count = len(np.load(folder / "targets.npy", mmap_mode="r"))
    if parts == 1:
        return part(folder, slice(None), count, kind)
    return Summed([(part, folder, chosen, count) for chosen in even_slices(count, parts)])


def run(problem: Problem, gap: float, show: Any = print) -> Result:
    """The run until `gap` is proven, with a line for each step."""
    clock, files = time.process_time(), [each for each in problem.maps if hasattr(each, "passes")]
    times: list[tuple[float, int]] = []

    def note(_: Any) -> None:
        times.append((time.process_time() - clock, sum(each.passes for each in files)))

    geometry = FlatQuotient(problem.n, problem.n)
    result = solve(problem, geometry, GrowingSamples(), tol=1e-2 * gap, stopping=ProvenGap(gap), callback=note)
    show("step  share    passes  readings  proven gap  seconds")
    for record, (seconds, read) in zip(result.history.records[1:], times, strict=True):
        proven = record.get("certificate", float("nan"))
        share, passes = record["share"], record["passes"]
        show(f"{record['iteration']:4.0f}  {share:7.4f}  {passes:6.2f}  {read:8d}  {proven:10.2e}  {seconds:7.1f}")
    return result


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--sided", action="store_true")
    parser.add_argument("--through", choices=["map", "zarr", "parquet", "dask"], default="map", help="for one part")
    parser.add_argument("--folder", type=Path, help="use (and keep) the files in this folder")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / "targets.npy").exists():
            folder.mkdir(parents=True, exist_ok=True)
            make(folder, options.pairs, options.sided)
        result = run(problem_of(folder, options.parts, options.through), options.gap)
        print(f"{result.status.label}: {result.message}; F = {result.value:.10g}, all in {result.seconds:.0f} s")
    return 0
