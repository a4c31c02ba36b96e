"""Must-link and cannot-link pairs: sampling them from labels, and finding contradictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.utils.multiclass import check_classification_targets

from psdopt.checks import finite, real_array, weight
from psdopt.errors import InvalidInputError
from psdopt_plugins.pair_sampling import random_pairs
from psdopt_plugins.pairs import Pairs, named_pairs, pair_codes


def sampled_pairs(y: Any, fraction: float, rng: np.random.Generator) -> tuple[Pairs, Pairs]:
    """round(fraction · n) pairs of one class and as many of two classes, each pair once (Hu & Kwok, section 4).

    Uniform over the pairs of each kind, or all of them if there are fewer. y (n,) labels. O(n) expected.

    Raises InvalidInputError unless fraction >= 0.
    """
    share = weight(fraction, "n_pairs")
    codes = np.unique(real_array(y, "y"), return_inverse=True)[1].ravel()
    wanted = round(share * len(codes))
    return random_pairs(len(codes), wanted, rng, codes, True), random_pairs(len(codes), wanted, rng, codes, False)


def check_consistent(must: Pairs, cannot: Pairs, n: int) -> None:
    """InvalidInputError, naming pairs, if a pair is in both lists or a chain of must-links joins a cannot-link."""
    if len(must) == 0 or len(cannot) == 0:
        return
    both = np.intersect1d(pair_codes(must, n), pair_codes(cannot, n))
    if len(both):
        found = named_pairs(both, n)
        raise InvalidInputError(f"must_link and cannot_link contradict each other; found in both: {found}")
    edges = sp.csr_array((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n, n))
    component = connected_components(edges, directed=False)[1]
    broken = component[cannot[:, 0]] == component[cannot[:, 1]]
    if np.any(broken):
        raise InvalidInputError(
            "must_link and cannot_link contradict each other; found cannot-links between samples that must-links "
            f"join through others: {named_pairs(pair_codes(cannot[broken], n), n)}"
        )


def checked_labels(y: Any, n: int) -> NDArray[Any]:
    """y as class labels (n,); InvalidInputError for another number of them and NaN, ValueError for other numbers."""
    labels = real_array(y, "y").ravel()
    if labels.shape != (n,):
        raise InvalidInputError(f"y must hold one label per sample, shape ({n},); found {labels.shape}")
    if labels.dtype.kind == "f":
        finite(labels, "y")
    check_classification_targets(labels)
    return labels
