"""The threshold up to which a pair counts as similar, chosen on labelled pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.checks import number, one_of, positive
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array

STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


def best_threshold(
    distances: Array, y: NDArray[Any], strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0
) -> float:
    """t such that "similar if distance <= t" is best on the given pairs; t lies halfway between two distances.

    With TP and FP the similar and dissimilar pairs up to t, P and N all of them, rates TPR = TP/P, TNR = 1 − FP/N.

    Parameters
    ----------
    distances : (p,). y : (p,) of +1 (similar) and −1.
    strategy : "accuracy" (TP + N − FP)/p; "f_beta" (1 + beta²) TP / (TP + FP + beta² P); "max_tpr", the greatest
        TPR with TNR >= min_rate; "max_tnr", the greatest TNR with TPR >= min_rate. Ties go to the least t.
    min_rate : in [0, 1], for the last two, which need it. beta : > 0.

    Raises UnknownNameError for the strategy, InvalidInputError unless both kinds of pairs occur. O(p log p).
    """
    one_of(strategy, "strategy", STRATEGIES)
    positive(beta, "beta")
    order = np.argsort(distances, kind="stable")
    values, first = np.unique(distances[order], return_index=True)
    similar = np.concatenate([[0], np.cumsum(y[order] == 1)])
    # cut c leaves distances below values[c] on the similar side; the last cut leaves all
    cuts = np.append(first, len(y))
    TP = similar[cuts].astype(np.float64)
    FP = cuts - TP
    P, N = TP[-1], FP[-1]
    if P == 0 or N == 0:
        raise InvalidInputError("y must hold similar (+1) and dissimilar (-1) pairs; found only one kind")
    if strategy == "accuracy":
        gain = TP - FP
    elif strategy == "f_beta":
        gain = (1.0 + beta**2) * TP / (TP + FP + beta**2 * P)
    else:
        gain, kept = (TP / P, 1.0 - FP / N) if strategy == "max_tpr" else (1.0 - FP / N, TP / P)
        gain = np.where(kept >= _rate(min_rate, strategy), gain, -1.0)
    below = np.concatenate([[-values[0] if values[0] > 0.0 else -2.0], values])
    above = np.append(values, values[-1])
    best = int(np.argmax(gain))
    return float(0.5 * (below[best] + above[best]))


def _rate(value: Any, strategy: str) -> float:
    if value is None:
        raise InvalidInputError(f"min_rate must be given with strategy {strategy!r}: a number between 0 and 1")
    return number(value, "min_rate", least=0.0, most=1.0)
