"""Each row of a factor has its own system, of the number of its columns or of its measurements, whichever is less."""

import numpy as np
import pytest

from benchmarks.papers.sdp_low_rank import completion, sensors, synchronisation
from psdopt.constraints.augmented import row_curvature
from psdopt.constraints.augmented.row_curvature import inverse_by_rows
from psdopt.linalg.tolerances import ROOT_EPS

PROGRAMS = {"completion": completion(8, 2, 2.0), "rotations": synchronisation(36), "distances": sensors(12, degree=4.0)}


def blocks(forms, Y, s, w) -> np.ndarray:
    """The P_i (n, r, r) by their definition."""
    P = s[:, None, None] * np.eye(Y.shape[1])
    for weight, unit in zip(w, np.eye(forms.size), strict=True):
        Z = forms.matrix(unit) @ Y
        P = P + 4.0 * weight * Z[:, :, None] * Z[:, None, :]
    return P


@pytest.mark.parametrize("columns", [1, 2, 3, 9])
@pytest.mark.parametrize("kind", PROGRAMS)
def test_it_inverts_the_curvature_of_each_row(kind, columns) -> None:
    forms, rng = PROGRAMS[kind].forms, np.random.default_rng(columns)
    Y, R = rng.standard_normal((2, forms.n, columns))
    s, w = rng.uniform(0.1, 1.0, forms.n), rng.uniform(0.0, 2.0, forms.size)
    w[::3] = 0.0
    P = blocks(forms, Y, s, w)
    expected = np.linalg.solve(P, R[:, :, None])[:, :, 0]
    assert np.allclose(inverse_by_rows(forms, Y, s, w)(R), expected, rtol=ROOT_EPS, atol=ROOT_EPS)


@pytest.mark.parametrize(("stiffness", "rank"), [(1e12, 9), (1e24, 1)])
@pytest.mark.parametrize("columns", [2, 9])
def test_stiff_rows_stay_positive_definite(columns, stiffness, rank) -> None:
    """Rounding may not make it indefinite where measurements are far stiffer than F, along some columns or all."""
    forms, rng = PROGRAMS["completion"].forms, np.random.default_rng(1)
    Y = rng.standard_normal((forms.n, rank)) @ rng.standard_normal((rank, columns))
    inverse = inverse_by_rows(forms, Y, np.ones(forms.n), np.full(forms.size, stiffness))
    for R in rng.standard_normal((20, forms.n, columns)):
        assert np.vdot(R, inverse(R)) > 0.0


def test_without_memory_for_the_systems_the_diagonal_is_left(monkeypatch) -> None:
    monkeypatch.setattr(row_curvature, "NUMBERS", 10)
    forms, s = PROGRAMS["completion"].forms, np.arange(1.0, 17.0)
    R = np.random.default_rng(2).standard_normal((16, 3))
    assert np.array_equal(inverse_by_rows(forms, R, s, np.ones(forms.size))(R), R / s[:, None])


def test_rows_that_no_measurement_touches_are_divided_by_s() -> None:
    forms = completion(8, 1, 0.5).forms
    touched = np.union1d(forms.i, forms.j)
    free = np.setdiff1d(np.arange(16), touched)
    assert len(free) > 0
    Y, R = np.random.default_rng(3).standard_normal((2, 16, 2))
    s = np.linspace(1.0, 2.0, 16)
    found = inverse_by_rows(forms, Y, s, np.ones(forms.size))(R)
    assert np.allclose(found[free], R[free] / s[free, None])
    assert not np.any(np.isclose(found[touched], R[touched] / s[touched, None]).all(axis=1))
