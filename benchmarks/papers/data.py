"""Data sets of the papers, from the folder named by the environment variable PSDOPT_DATA."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris, load_wine

from psdopt.errors import DataFileError

Array = NDArray[Any]
#: Sets that scikit-learn brings.
BUNDLED = {"iris": load_iris, "wine": load_wine, "digits": load_digits}


def folder() -> Path:
    """The data folder, or one clear error."""
    name = os.environ.get("PSDOPT_DATA")
    if not name or not Path(name).is_dir():
        raise DataFileError("set the environment variable PSDOPT_DATA to the folder with the data sets (*.npz)")
    return Path(name)


def load(name: str) -> tuple[Any, Array, dict[str, Array]]:
    """(X, y, the other arrays of the file), X float64, dense or CSR, as stored: neither scaled nor centred.

    Iris, wine and digits are scikit-learn's where the folder lacks them. DataFileError if there is no such file.
    """
    if name in BUNDLED and not (os.environ.get("PSDOPT_DATA") and (folder() / f"{name}.npz").is_file()):
        X, y = BUNDLED[name](return_X_y=True)
        return X, y, {}
    path = folder() / f"{name}.npz"
    if not path.is_file():
        raise DataFileError(f"{name} is not in {path.parent}, which PSDOPT_DATA names")
    with np.load(path, allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    y = arrays.pop("y")
    if "X" in arrays:
        return arrays.pop("X").astype(np.float64), y, arrays
    parts = (arrays.pop("data").astype(np.float64), arrays.pop("indices"), arrays.pop("indptr"))
    return sp.csr_array(parts, shape=tuple(arrays.pop("shape"))), y, arrays


def needs(name: str) -> tuple[str, ...]:
    """The files that `name` needs: none for what scikit-learn brings."""
    return () if name in BUNDLED else (name,)


def dense(X: Any) -> Array:
    """X as an array, whether it was sparse or not."""
    return X if isinstance(X, np.ndarray) else np.asarray(X.todense())


def training_part(name: str) -> tuple[Any, Array]:
    """(X, y) of the training rows: dense features standardised (constant ones only centred), counts as tf-idf.

    letters: the first 15,000 rows (Yuan et al., table 3); sets without a split: all rows.
    """
    X, y, extra = load(name)
    rows = extra.get("train_idx", np.arange(X.shape[0]))
    if name == "letters":
        rows = np.arange(15_000)
    if "idf" in extra:
        X = sp.csr_array(X @ sp.diags_array(extra["idf"]))
        norms = np.sqrt(X.multiply(X).sum(axis=1))
        X = sp.csr_array(sp.diags_array(1.0 / np.where(norms > 0, norms, 1.0)) @ X)
    X, y = X[rows], y[rows]
    if not sp.issparse(X):
        X = X - X.mean(axis=0)
        scale = X.std(axis=0)
        X = X / np.where(scale > 1e-12, scale, 1.0)
    return X, y
