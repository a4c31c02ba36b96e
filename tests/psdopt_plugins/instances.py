"""Data for tests of estimators: rows that are read in blocks, distances, and how well classes are apart."""

import numpy as np


class OnDisk:
    """Rows that can be sliced and not loaded."""

    def __init__(self, array):
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, rows):
        return self._array[rows]

    def __len__(self):
        return len(self._array)

    def __array__(self, *args, **kwargs):
        raise AssertionError("loaded whole")


def distances(X):
    """|x_i − x_j| of all rows."""
    return np.linalg.norm(X[:, None] - X, axis=2)


def share_within(Z, classes):
    """Share of the squared distances from the mean that is within the classes."""
    within = sum(((Z[classes == c] - Z[classes == c].mean(axis=0)) ** 2).sum() for c in np.unique(classes))
    return within / ((Z - Z.mean(axis=0)) ** 2).sum()
