"""Rows that do not fit: memory and time of one pass over a file, and of learning a metric from it.

    python -m benchmarks rows --rows 10000000 --columns 100

makes a float32 .npy file (4 GB at the default size) in a temporary folder, unless --file names one, and prints the
largest memory of the process, as the operating system counts it, before and after.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from psdopt_plugins.metric_learning import KTA

WRITTEN = 100_000


def labels(rows: int) -> np.ndarray:
    return np.random.default_rng(0).integers(10, size=rows).astype(np.int8)


def make(path: Path, rows: int, columns: int) -> None:
    """Ten classes whose means differ, unit variance."""
    rng, y = np.random.default_rng(1), labels(rows)
    means = rng.standard_normal((10, columns)).astype(np.float32)
    with open(path, "wb") as handle:
        np.lib.format.write_array_header_1_0(handle, {"descr": "<f4", "fortran_order": False, "shape": (rows, columns)})
        for start in range(0, rows, WRITTEN):
            part = y[start : start + WRITTEN]
            handle.write((rng.standard_normal((len(part), columns), dtype=np.float32) + means[part]).tobytes())


def peak() -> float:
    """Largest resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--file", type=Path, help="use (and keep) this .npy file")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder) / "rows.npy"
        if not path.exists():
            make(path, options.rows, options.columns)
        X = np.load(path, mmap_mode="r")
        y = labels(len(X))
        before, clock, cpu = peak(), time.perf_counter(), time.process_time()
        model = KTA(lam=1e-16, rank=10).fit(X, y)
        wall, cpu = time.perf_counter() - clock, time.process_time() - cpu
        size = path.stat().st_size / 2**20
        print(f"file {size:.0f} MB, {X.shape[0]} x {X.shape[1]} {X.dtype}")
        print(f"KTA: {model.result_.status.label}, {wall:.1f} s wall, {cpu:.1f} s processor")
        print(f"largest memory: {before:.0f} MB before, {peak():.0f} MB after")
    return 0


if __name__ == "__main__":
    sys.exit(main())
