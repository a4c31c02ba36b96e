"""Device arrays compute as NumPy's do; what is small comes to the host, and nothing else does."""

import operator

import numpy as np
import pytest

from psdopt.devices import on_host
from psdopt.errors import InvalidTypeError
from tests.devices.libraries import BINARY, there

Y = np.arange(12.0).reshape(6, 2) - 5.25
Z = np.cos(Y)


@pytest.mark.parametrize("operation", BINARY)
@pytest.mark.parametrize("other", ["array", "host", "row", "number", "numpy number", "0-d"])
def test_operators_are_numpys(library: str, operation: object, other: str) -> None:
    host = {"array": Z, "host": Z, "row": Z[0], "number": 2.5, "numpy number": np.float64(2.5), "0-d": np.array(2.5)}
    right = there(library, Z) if other == "array" else host[other]
    left = there(library, Y)
    np.testing.assert_allclose(on_host(operation(left, right)), operation(Y, host[other]), rtol=4e-16)
    if operation not in (operator.le, operator.ge, operator.ne):
        np.testing.assert_allclose(on_host(operation(right, left)), operation(host[other], Y), rtol=4e-16)


def test_operators_in_place_change_the_array(library: str) -> None:
    for operation in (operator.iadd, operator.isub, operator.imul):
        kept, expected = there(library, Y), Y.copy()
        alias = kept
        kept, expected = operation(kept, Z), operation(expected, Z)
        assert kept is alias
        np.testing.assert_array_equal(on_host(kept), expected)


def test_parts_are_taken_as_from_numpy(library: str) -> None:
    kept, rows = there(library, Y), np.array([4, 0, 4])
    for key in (np.s_[1:3], np.s_[:, 1:], np.s_[:, 0], rows, np.s_[:, np.array([True, False])], np.s_[:, [1, 0]]):
        np.testing.assert_array_equal(on_host(kept[key]), Y[key])
    np.testing.assert_array_equal(on_host(kept.take(rows.reshape(3, 1), axis=0)), Y.take(rows.reshape(3, 1), axis=0))
    np.testing.assert_array_equal(on_host(kept[:, 0][:, None]), Y[:, 0][:, None])
    np.testing.assert_array_equal(on_host(kept.reshape(4, 3)), Y.reshape(4, 3))
    for column, expected in zip(kept.T, Y.T, strict=True):
        np.testing.assert_array_equal(on_host(column), expected)
    copied = kept.copy()
    copied[:, :1] = np.zeros((6, 1))
    assert on_host(copied)[:, 0].any() == np.False_
    assert kept.any()
    assert (len(kept), kept.ndim, kept.size, kept.shape) == (6, 2, 12, (6, 2))
    assert repr(kept).startswith("DeviceArray(6x2, ")


def test_conversions_to_numpy_are_refused(library: str) -> None:
    kept = there(library, Y)
    wanted = "a NumPy array is needed here; found an array of"
    with pytest.raises(TypeError):
        np.add.reduce(kept)
    for convert in (np.asarray, np.array, np.cumsum, np.linalg.inv, np.exp, lambda a: Y.T @ a):
        with pytest.raises(InvalidTypeError, match=wanted):
            convert(kept)
    for other in (np.median, lambda a: np.einsum("ij,kj->ik", a, a)):
        with pytest.raises(InvalidTypeError):
            other(kept)
