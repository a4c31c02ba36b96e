"""Units of rows, from bounds, links and costs: they follow the units of M, in which programs take the same steps."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints, solve
from tests.constraints.central_path.test_standard import with_forms
from tests.instances import psd


def test_rows_without_a_bound_of_their_own_follow_those_with_one() -> None:
    E = np.eye(4)
    forms = [
        np.outer(E[0], E[0]),
        np.outer(E[0], E[1]) + np.outer(E[1], E[0]),
        np.outer(E[1], E[2]) + np.outer(E[2], E[1]),
    ]
    chain = with_forms(forms, [1.0, 2.0**11, 2.0**-9])  # M_01 = 2^10, M_12 = 2^-10, and nothing of row 3
    assert chain.row_units().tolist() == [1.0, 2.0**10, 2.0**-20, 1.0]
    assert with_forms([forms[0], forms[1] + forms[2]], [1.0, 2.0**10]).row_units().tolist() == [1.0] * 4


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e5, 1e7, 1e9, 1e-6])
def test_demands_on_entries_in_any_unit(unit) -> None:
    """min M_11 + M_22 with M_00 = 1, M_01 >= u, M_02 >= 2 u is 5 u²: also where M_00 <= 1/u² and u is 1."""
    F = QuadraticSDP(C=np.diag([0.0, 0.5, 0.5]))
    for corner, size in ((1.0, unit), (unit**-2.0, 1.0)):
        demands = constraints.entries([0, 0], [1, 2], 3, lower=[size, 2.0 * size])
        held = [constraints.entries([0], [0], 3, upper=corner), demands]
        result = solve(Constrained(F, held))
        assert result.optimal
        assert result.iterations <= 12
        assert result.value == pytest.approx(5.0 * unit**2, rel=2e-6)


def mixed(seed: int, d: np.ndarray | None = None) -> Constrained:
    """Some diagonal entries and some others of a random M, and a definite C, in units d (n,) of the rows; the seed
    draws n = 3 to 11 too."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 12))
    d = np.ones(n) if d is None else d[:n]
    M, C = psd(rng, n) * np.outer(d, d), psd(rng, n) / np.outer(d, d)
    own = rng.choice(n, int(rng.integers(0, n)), replace=False)
    i, j = np.triu_indices(n, 1)
    some = rng.choice(len(i), int(rng.integers(1, len(i) + 1)), replace=False)
    i, j = i[some], j[some]
    off = M[i, j]
    groups = [constraints.entries(own, own, n, M[own, own])] if len(own) else []
    groups.append(constraints.entries(i, j, n, lower=np.where(off > 0.0, 0.9, 1.1) * off))
    return Constrained(QuadraticSDP(C=0.5 * C), groups)


@pytest.mark.parametrize("seed", range(12))
def test_units_of_m_change_nothing(seed) -> None:
    d = 2.0 ** np.random.default_rng(seed).integers(-12, 13, 11)
    one, other = mixed(seed), mixed(seed, d)
    moved = np.log2(other.conic.row_units()) - np.log2(one.conic.row_units()) - np.log2(d[: one.n])
    assert np.ptp(moved) == 0.0
    plain, found = solve(one), solve(other)
    assert plain.optimal
    assert found.optimal
    assert found.value == pytest.approx(plain.value, rel=3e-6)
    assert found.iterations <= plain.iterations + 2
