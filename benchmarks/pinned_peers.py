"""Metric learners that do not run on current scikit-learn, called in a pinned environment of their own.

    python benchmarks/pinned_peers.py              # builds the environment and tries all three on iris
    python benchmarks/pinned_peers.py FOLDER       # the same, kept in FOLDER

The environment is made once, in the folder that `PSDOPT_PINNED` names or else in ~/.cache/psdopt/pinned, from
pinned/requirements-metric-learn.txt, and made anew when that file has changed. Tasks and answers travel as .npz files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent / "pinned"
REQUIREMENTS = HERE / "requirements-metric-learn.txt"
METHODS = ("itml", "lmnn", "pylmnn", "scml", "psdopt", "psdopt-kta")
ARRAYS = ("X", "y", "pairs", "signs", "bounds", "triplets")


class Learned(NamedTuple):
    """components (k, d), so that the distance is |components (x − z)|, the CPU seconds of fit, and the process's
    largest resident size in megabytes, before fit (libraries, data) and after it."""

    components: np.ndarray
    cpu_seconds: float
    megabytes: tuple[float, float]


def environment(folder: str | os.PathLike[str] | None = None) -> Path:
    """The Python of the pinned environment, built if need be (once, a minute or two)."""
    chosen = folder or os.environ.get("PSDOPT_PINNED") or Path.home() / ".cache" / "psdopt" / "pinned"
    home = Path(chosen).expanduser().resolve()
    python, stamp = home / "bin" / "python", home / "built-from.txt"
    wanted = REQUIREMENTS.read_text()
    if not (python.exists() and stamp.exists() and stamp.read_text() == wanted):
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", REQUIREMENTS], check=True)
        stamp.write_text(wanted)
    return python


def learn(
    method: str, X: np.ndarray, y: np.ndarray, *, folder: Any = None, timeout: float = 600.0, **options: Any
) -> Learned:
    """One task of :func:`learn_all`."""
    return learn_all([{"method": method, "X": X, "y": y, **options}], folder=folder, timeout=timeout)[0]


def learn_all(tasks: Sequence[Mapping[str, Any]], *, folder: Any = None, timeout: float = 600.0) -> list[Learned]:
    """Fit "itml", "lmnn", "scml" (metric-learn 0.7.0) or "pylmnn" (PyLMNN 1.6.4), all tasks in one process.

    "psdopt" and "psdopt-kta", our own LMNN and KTA, go the same way but in this environment, not mixed with others.
    A task holds `method`, X (m, d), labels y (m,); for ITML, which otherwise draws its own from y, also `pairs` (k, 2),
    `signs` (k,) of ±1 and `bounds` (largest similar, least dissimilar distance); for SCML `triplets` (q, 3). Whatever
    else it holds are options of the learner.

    Raises RuntimeError with the last words of a learner that failed, and TimeoutExpired (of subprocess)
    after `timeout` seconds of wall time.
    """
    with tempfile.TemporaryDirectory() as scratch:
        files = []
        for k, task in enumerate(tasks):
            if task["method"] not in METHODS:
                raise ValueError(f"method must be one of {', '.join(METHODS)}; found {task['method']!r}")
            arrays = {name: np.asarray(task[name]) for name in ARRAYS if task.get(name) is not None}
            options = {name: value for name, value in task.items() if name not in ("method", *ARRAYS)}
            files += [Path(scratch) / f"task{k}.npz", Path(scratch) / f"answer{k}.npz"]
            np.savez(files[-2], method=task["method"], options=json.dumps(options), **arrays)
        clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        # a thread each: the processor time of threads that wait for one another is nobody's work
        clean |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        ours = all(task["method"].startswith("psdopt") for task in tasks)
        command = [sys.executable if ours else environment(folder), HERE / "worker.py", *files]
        done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=timeout)
        if done.returncode:
            raise RuntimeError(f"a learner failed: {done.stderr.strip().splitlines()[-1] if done.stderr else '?'}")
        found = []
        for answer in files[1::2]:
            with np.load(answer) as arrays:
                before, after = map(float, arrays["megabytes"])
                found.append(Learned(arrays["components"], float(arrays["cpu_seconds"]), (before, after)))
        return found


def main(argv: Sequence[str] | None = None) -> int:
    from sklearn.datasets import load_iris
    from sklearn.neighbors import KNeighborsClassifier

    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="where the environment is kept")
    folder = parser.parse_args(argv).folder
    for method in METHODS[:3]:
        components, seconds, _ = learn(method, X[::2], y[::2], folder=folder)
        score = KNeighborsClassifier(5).fit(X[::2] @ components.T, y[::2]).score(X[1::2] @ components.T, y[1::2])
        print(f"{method}: 5-NN error {100 * (1 - score):.1f} %, components {components.shape}, {seconds:.2f} s CPU")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
