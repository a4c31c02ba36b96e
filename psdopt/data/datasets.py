"""Labelled data: the record that applications get, and the bundled sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from psdopt.checks import squares_finite
from psdopt.errors import InvalidInputError, unknown_name
from psdopt.linalg.arrays import Array
from psdopt.linalg.row_sources import RowSource

#: Data sets that scikit-learn ships, or that are generated with a fixed seed: name -> summary.
BUNDLED = {
    "breast_cancer": "569 samples, 30 features, 2 classes: measurements of cell nuclei",
    "diabetes": "442 samples, 10 features, a number to predict: progression of the disease after a year",
    "concealed": "600 samples, 12 features, 4 classes: clumps in a plane, in wider noise",
    "digits": "1797 samples, 64 features, 10 classes: 8 × 8 images of digits",
    "iris": "150 samples, 4 features, 3 classes: lengths of petals and sepals",
    "swiss_roll": "1000 samples, 3 features, the position along the roll: a strip rolled up",
    "wine": "178 samples, 13 features, 3 classes: chemical analysis of wines",
}
#: Numbers are not class labels if there are more distinct ones than this and than the square root of the number of
#: samples, and one of them is unique.
MOST_CLASSES = 20


@dataclass(frozen=True)
class Dataset:
    """Samples X (m, d), dense or sparse, as float64, with labels or targets y (m,), or None.

    `class_names[k]` is the meaning of label k, for labels 0, 1, 2, ... `common_unit`: all features have the same unit
    (grey levels of pixels, word counts), so that reports scale samples and not features.
    `notes` : what the file reader recognised, such as which column is the label. `symmetric` : X is a
    symmetric matrix K (n, n) and has no samples. X may be a :class:`psdopt.linalg.RowSource`, rows that are read in
    blocks and then checked for NaN.

    Raises InvalidInputError if X is empty, not 2-D or not finite, or if y does not fit, is not finite or
    holds neither numbers nor text, or if `symmetric` and X is not square.
    """

    name: str
    X: Any
    y: Any = None
    feature_names: Sequence[str] | None = None
    class_names: Sequence[str] | None = None
    common_unit: bool = False
    notes: tuple[str, ...] = ()
    symmetric: bool = False

    def __post_init__(self) -> None:
        if not self.in_blocks:
            self._check_samples()
        if self.y is not None:
            self._check_labels()

    def _check_samples(self) -> None:
        X: Any = self.X if self.sparse else np.asarray(self.X)
        if X.ndim != 2 or 0 in X.shape:
            raise InvalidInputError(f"{self.name}: X must be an array (samples, features), not empty; found {X.shape}")
        if self.symmetric and X.shape[0] != X.shape[1]:
            raise InvalidInputError(f"{self.name}: K must be square; found shape {X.shape}")
        if X.dtype.kind not in "buif":
            raise InvalidInputError(f"{self.name}: X must hold numbers; found dtype {X.dtype}")
        with np.errstate(over="ignore"):  # numbers beyond float64 become infinite, which is checked next
            object.__setattr__(self, "X", X.astype(np.float64))  # products of small integers would overflow
        entries = self.X.data if self.sparse else self.X
        _finite(entries, f"{self.name}: X", self.feature_names)
        squares_finite(entries, self.X.shape, f"{self.name}: X")

    def _check_labels(self) -> None:
        y, m = np.asarray(self.y), self.X.shape[0]
        object.__setattr__(self, "y", y)
        if y.shape != (m,):
            raise InvalidInputError(f"{self.name}: y must hold one label per sample, shape ({m},); found {y.shape}")
        text = y.dtype.kind == "O" and all(isinstance(label, str) for label in y)
        if y.dtype.kind not in "buifUS" and not text:
            raise InvalidInputError(f"{self.name}: y must hold numbers or text; found dtype {y.dtype}")
        if y.dtype.kind == "f":
            _finite(y, f"{self.name}: y")

    @property
    def in_blocks(self) -> bool:
        """Whether X is read in blocks of rows."""
        return isinstance(self.X, RowSource)

    @property
    def sparse(self) -> bool:
        """Whether X is a SciPy sparse array."""
        return bool(scipy.sparse.issparse(self.X))

    def label_text(self, label: Any) -> str:
        """The meaning of `label`, for a legend."""
        names = self.class_names
        known = names is not None and np.issubdtype(type(label), np.integer) and 0 <= label < len(names)
        return str(names[label]) if known and names is not None else str(label)

    def classes(self, at_least: int = 2) -> Array:
        """The distinct labels, each with `at_least` samples; one clear error otherwise."""
        if self.y is None:
            raise InvalidInputError(f"{self.name} has no labels y, which this application needs")
        if self.y.dtype.kind == "f" and np.any(self.y != np.floor(self.y)):
            raise InvalidInputError(
                f"{self.name}: y must hold class labels; found numbers such as {self.y[0]:g}{self._origin()}"
            )
        labels, counts = np.unique(self.y, return_counts=True)
        if len(labels) < 2:
            raise InvalidInputError(f"{self.name}: y must hold at least 2 classes; found only {str(labels[0])!r}")
        if counts.min() < at_least:
            rare = labels[counts.argmin()]
            problem = f"each class needs at least {at_least} samples; class {str(rare)!r} has {counts.min()}"
            if self.y.dtype.kind in "if" and len(labels) > max(MOST_CLASSES, math.sqrt(len(self.y))):
                numbers = f"{len(labels)} different numbers in {len(self.y)} samples"
                problem = f"y must hold class labels; found {numbers}, which look like a quantity to predict"
            raise InvalidInputError(f"{self.name}: {problem}{self._origin()}")
        return labels

    def _origin(self) -> str:
        """The column that y was read from, if a reader of files chose it."""
        return next((f" ({note})" for note in self.notes if note.startswith("label: ")), "")


def bundled(name: str) -> Dataset:
    """One of the sets in :data:`BUNDLED`, as scikit-learn ships it. UnknownNameError for other names."""
    if name not in BUNDLED:
        raise unknown_name("data set", name, BUNDLED)
    import sklearn.datasets

    if name == "swiss_roll":
        X, along = sklearn.datasets.make_swiss_roll(1000, random_state=0)
        return Dataset(name, X, along, ["x", "y", "z"], common_unit=True)
    if name == "concealed":
        return _concealed()
    bunch = getattr(sklearn.datasets, f"load_{name}")()
    classes = [str(label) for label in bunch.get("target_names", ())] or None
    return Dataset(name, bunch.data, bunch.target, [*map(str, bunch.feature_names)], classes, name == "digits")


def _concealed() -> Dataset:
    """Four clumps at the corners of a square, with noise of three times their width in ten more directions; rotated."""
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=600)
    plane = 5.0 * np.column_stack([labels % 2, labels // 2]) + rng.standard_normal((600, 2))
    rotation = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    X = np.column_stack([plane, 3.0 * rng.standard_normal((600, 10))]) @ rotation
    return Dataset("concealed", X, labels, [f"x{k}" for k in range(12)], [f"corner {k}" for k in range(4)])


def _finite(values: Array, what: str, columns: Sequence[str] | None = None) -> None:
    bad = ~np.isfinite(values)
    if np.any(bad):
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        place = f"; the first at {where if len(where) > 1 else where[0]}" if values.ndim > 1 else ""
        if len(where) > 1 and columns is not None:
            place += f", column {columns[where[1]]!r}"
        raise InvalidInputError(f"{what} must be finite; found {int(bad.sum())} NaN or infinite entries{place}")
