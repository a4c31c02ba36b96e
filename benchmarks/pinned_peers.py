"""Metric learners that do not run on current scikit-learn, called in a pinned environment of their own.

    python benchmarks/pinned_peers.py              # builds the environment and tries all three on iris
    python benchmarks/pinned_peers.py FOLDER       # the same, kept in FOLDER

The environment is made once, in the folder that `PSDOPT_PINNED` names or else in ~/.cache/psdopt/pinned, from
pinned/requirements-metric-learn.txt, and made anew when that file has changed. Tasks and answers travel as .npz files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent / "pinned"
REQUIREMENTS = HERE / "requirements-metric-learn.txt"
METHODS = ("itml", "lmnn", "pylmnn")


class Learned(NamedTuple):
    """components (k, d), so that the distance is |components (x − z)|, and the CPU seconds of fit."""

    components: np.ndarray
    cpu_seconds: float


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
    method: str,
    X: np.ndarray,
    y: np.ndarray,
    *,
    pairs: np.ndarray | None = None,
    signs: np.ndarray | None = None,
    bounds: tuple[float, float] | None = None,
    folder: str | os.PathLike[str] | None = None,
    timeout: float = 600.0,
    **options: object,
) -> Learned:
    """Fit "itml", "lmnn" (metric-learn 0.7.0) or "pylmnn" (PyLMNN 1.6.4) on X (m, d) with labels y (m,).

    `pairs` (k, 2) with `signs` (k,) of ±1 and `bounds` (largest similar, least dissimilar distance) are for ITML, which
    otherwise draws its own from y. Other options go to the learner. Raises RuntimeError with the learner's last words.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; found {method!r}")
    task = {"method": method, "X": np.asarray(X, float), "y": np.asarray(y), "options": json.dumps(options)}
    task.update({k: v for k, v in (("pairs", pairs), ("signs", signs), ("bounds", bounds)) if v is not None})
    with tempfile.TemporaryDirectory() as scratch:
        question, answer = Path(scratch) / "task.npz", Path(scratch) / "answer.npz"
        np.savez(question, **task)
        clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        command = [environment(folder), HERE / "worker.py", question, answer]
        done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=timeout)
        if done.returncode:
            raise RuntimeError(f"{method} failed: {done.stderr.strip().splitlines()[-1] if done.stderr else '?'}")
        with np.load(answer) as found:
            return Learned(found["components"], float(found["cpu_seconds"]))


def main() -> None:
    from sklearn.datasets import load_iris
    from sklearn.neighbors import KNeighborsClassifier

    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    folder = sys.argv[1] if len(sys.argv) > 1 else None
    for method in METHODS:
        components, seconds = learn(method, X[::2], y[::2], folder=folder)
        score = KNeighborsClassifier(5).fit(X[::2] @ components.T, y[::2]).score(X[1::2] @ components.T, y[1::2])
        print(f"{method}: 5-NN error {100 * (1 - score):.1f} %, components {components.shape}, {seconds:.2f} s CPU")


if __name__ == "__main__":
    main()
