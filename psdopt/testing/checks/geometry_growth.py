"""Geometry check: the same set with another number of columns, for runs whose rank grows."""

from __future__ import annotations

import numpy as np

from psdopt.contracts.geometry import Geometry
from psdopt.testing import quotient
from psdopt.testing.checks.common import PASSED, compare, failed, worst
from psdopt.testing.record import Deviation
from psdopt.testing.regimes import Case
from psdopt.testing.registry import check


@check("geometry", "0.2", when=lambda g: g.can_grow, reason="has one rank only (with_rank)", regimes=("full-rank",))
def with_rank(geometry: Geometry, case: Case) -> Deviation:
    """with_rank(r) is the set of the same order and trace whose factors have r columns, and holds Y Yᵀ for such Y."""
    results = [PASSED]
    for r in range(1, geometry.n + 1):
        other = geometry.with_rank(r)
        if (other.n, other.trace) != (geometry.n, geometry.trace):
            return failed(f"with_rank({r}) is another set: {other!r}")
        width = other.factor(other.random_point(np.random.default_rng(case.seed))).shape[1]
        if width != r or (other.rank is not None and other.rank != r):
            return failed(f"with_rank({r}) has points of {width} columns, and says that its rank is {other.rank}")
        Y = case.factor(geometry.n, r)
        if geometry.trace is not None:
            Y *= np.sqrt(geometry.trace) / np.linalg.norm(Y)
        point = other.from_factor(Y)
        if other.check_point(point) is None:
            M, unit = quotient.dense(other, point), 16.0 * float(np.linalg.norm(Y)) ** 2
            results.append(compare(f"the point of with_rank({r})", M, Y @ Y.T, unit, geometry.n))
    return worst(results)
