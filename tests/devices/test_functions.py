"""NumPy's functions on device arrays give NumPy's results, and leave them where they belong."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from psdopt.devices import FUNCTIONS, DeviceArray, held, here, matrix_on, on_host
from tests.devices.libraries import sent

rng = np.random.default_rng(0)
Y, Z, S = rng.standard_normal((7, 3)), rng.standard_normal((7, 3)), rng.standard_normal((7, 7))

#: (what, where the result is) for arguments Y and Z (7, 3).
CASES: dict[str, tuple[Callable[..., Any], str]] = {
    "vdot": (lambda Y, Z: np.vdot(Y, Z), "number"),
    "row dots": (lambda Y, Z: np.einsum("ij,ij->i", Y, Z), "device"),
    "column dots": (lambda Y, Z: np.einsum("ij,ij->j", Y, Z), "host"),
    "concatenate": (lambda Y, Z: np.concatenate([Y, Z], axis=1), "device"),
    "rows": (lambda Y, Z: np.concatenate([Y, Z]), "device"),
    "hstack": (lambda Y, Z: np.hstack([Y, Z]), "device"),
    "column_stack": (lambda Y, Z: np.column_stack([Y, Z[:, 0]]), "device"),
    "zeros_like": (lambda Y, Z: np.zeros_like(Y), "device"),
    "zeros_like of a shape": (lambda Y, Z: np.zeros_like(Y, shape=(7, 2), order="F"), "device"),
    "sum": (lambda Y, Z: np.sum(Y), "number"),
    "sum of columns": (lambda Y, Z: np.sum(Y * Z, axis=0), "host"),
    "mean": (lambda Y, Z: np.mean(Y, axis=0), "host"),
    "max": (lambda Y, Z: np.max(np.abs(Y), axis=0, initial=0.0), "host"),
    "min": (lambda Y, Z: np.min(Y), "number"),
    "all": (lambda Y, Z: np.all(np.isfinite(Y)), "number"),
    "any": (lambda Y, Z: np.any(Y > 10.0), "number"),
    "where": (lambda Y, Z: np.where(Y > 0.0, 0.0, Z), "device"),
    "where of arrays": (lambda Y, Z: np.where(Y > Z, Y, Z), "device"),
    "or of a flag": (lambda Y, Z: np.bitwise_or(Y > 0.0, False), "device"),
    "broadcast_to": (lambda Y, Z: np.broadcast_to(Y[:, 0], (2, 7)), "device"),
    "shape": (lambda Y, Z: np.shape(Y), "number"),
    "ndim": (lambda Y, Z: np.ndim(Y), "number"),
    "size": (lambda Y, Z: np.size(Y), "number"),
    "norm": (lambda Y, Z: np.linalg.norm(Y), "number"),
    "spectral norm": (lambda Y, Z: np.linalg.norm(Y, 2), "number"),
    "full_like": (lambda Y, Z: np.full_like(Y, 2.5), "device"),
    "column norms": (lambda Y, Z: np.linalg.norm(Y, axis=0), "host"),
    "maximum": (lambda Y, Z: np.maximum(0.0, Y), "device"),
    "maximum of arrays": (lambda Y, Z: np.maximum(Y, Z), "device"),
    "minimum": (lambda Y, Z: np.minimum(Y, Z), "device"),
    "absolute": (lambda Y, Z: np.abs(Y), "device"),
    "power": (lambda Y, Z: np.power(Y, 2) - Y**3, "device"),
    "negative": (lambda Y, Z: np.negative(Y) - -Z, "device"),
    "solve": (lambda Y, Z: np.linalg.solve(np.array([[2.0, 1, 0], [1, 3, 0], [0, 0, 1]]), Y.T).T, "device"),
    "singular values": (lambda Y, Z: np.linalg.svd(Y, compute_uv=False), "host"),
    "product of svd": (lambda Y, Z: (lambda U, s, Vt: (U * s) @ Vt)(*np.linalg.svd(Y, full_matrices=False)), "device"),
    "product of qr": (lambda Y, Z: (lambda Q, R: Q @ R)(*np.linalg.qr(Y)), "device"),
    "orthonormal": (lambda Y, Z: (lambda Q: Q.T @ Q)(np.linalg.qr(Y)[0]), "host"),
}


@pytest.mark.parametrize("case", CASES)
def test_results_are_numpys(library: str, case: str) -> None:
    compute, where = CASES[case]
    found, expected = compute(held(sent(library, Y)), held(sent(library, Z))), compute(Y, Z)
    assert isinstance(found, DeviceArray) == (where == "device")
    assert isinstance(here(found), np.ndarray) == (where == "host")
    np.testing.assert_allclose(on_host(found), expected, rtol=1e-13, atol=1e-13)


def test_eigenvectors_stay_and_eigenvalues_come(library: str) -> None:
    A = S + S.T
    values, V = np.linalg.eigh(matrix_on(held(sent(library, A)).device, A))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A), rtol=1e-12)
    np.testing.assert_allclose(on_host(V) * values @ on_host(V).T, A, rtol=1e-12, atol=1e-12)


def test_every_function_of_the_tables_is_tested() -> None:
    ufuncs = {function for function in FUNCTIONS if isinstance(function, np.ufunc)}
    assert len(FUNCTIONS) - len(ufuncs) <= len(CASES)
    in_array_tests = {np.add, np.subtract, np.multiply, np.divide, np.less, np.less_equal, np.greater, np.greater_equal,
                      np.equal, np.not_equal, np.matmul, np.bitwise_or}  # fmt: skip
    assert ufuncs == in_array_tests | {np.isfinite, np.absolute, np.maximum, np.minimum, np.power, np.negative}
