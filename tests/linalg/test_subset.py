"""A few eigenpairs of a dense matrix, also where LAPACK's first algorithm gives up."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from psdopt.linalg.subset import eigenpairs, least_eigenvalue


@pytest.mark.parametrize("fails", [False, True])
def test_they_are_those_of_all_pairs(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    G = np.random.default_rng(0).standard_normal((7, 7))
    A = G + G.T
    if fails:
        whole = scipy.linalg.eigh

        def eigh(matrix: np.ndarray, subset_by_index: list[int] | None = None, **options: object) -> object:
            if subset_by_index is not None:
                raise np.linalg.LinAlgError("Internal Error.")
            return whole(matrix, **options)

        def eigvalsh(matrix: np.ndarray, **options: object) -> object:
            raise np.linalg.LinAlgError("Internal Error.")

        monkeypatch.setattr(scipy.linalg, "eigh", eigh)
        monkeypatch.setattr(scipy.linalg, "eigvalsh", eigvalsh)
    values, V = eigenpairs(A, 1, 3)
    assert np.allclose(values, np.linalg.eigvalsh(A)[1:4])
    assert np.allclose(A @ V, V * values)
    assert least_eigenvalue(A) == pytest.approx(np.linalg.eigvalsh(A)[0])


def test_what_is_not_finite_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def eigh(matrix: np.ndarray, **options: object) -> object:
        raise np.linalg.LinAlgError("Internal Error.")

    monkeypatch.setattr(scipy.linalg, "eigh", eigh)
    with pytest.raises(FloatingPointError, match="not finite"):
        eigenpairs(np.full((3, 3), np.nan), 0, 0)
