"""Arrays of other libraries come in checked, go where the data are, and are refused by name elsewhere."""

import numpy as np
import pytest

from psdopt.devices import (
    DeviceArray,
    DeviceMatrix,
    device_of,
    held,
    indices_on,
    is_device_array,
    matrix_on,
    on_host,
    once,
    placed,
    released,
    require_host,
)
from psdopt.devices.library import device_for
from psdopt.errors import InvalidInputError, InvalidTypeError
from tests.devices.libraries import is_of, sent

Y = np.arange(12.0).reshape(6, 2)


def test_arrays_are_placed_where_the_data_are(library: str) -> None:
    kept = held(sent(library, Y), "Y")
    device = kept.device
    assert placed(Y, device, "Y").device is device
    assert placed(kept, device, "Y") is kept
    assert is_of(library, released(placed([[1, 2]], device)))
    with pytest.raises(InvalidInputError, match="Y must be finite; found 1 NaN"):
        placed(np.array([[np.nan]]), device, "Y")
    other = sent("strict" if library == "torch" else "torch", Y)
    with pytest.raises(InvalidInputError, match=r"Y must be a NumPy array or one of .*, like the data; found"):
        placed(other, device, "Y")


def test_the_device_of_an_array_is_known_raw_or_held(library: str) -> None:
    raw = sent(library, Y)
    assert device_of(raw) is device_of(held(raw)) is device_for(raw, "Y")
    for plain in (Y, np.float64(1.0), 1.0, None, [1.0], "x"):
        assert device_of(plain) is None
        assert not is_device_array(plain)
        for same in (released, held, on_host):
            assert same(plain) is plain


def test_only_arrays_of_other_libraries_are_refused_on_the_host(library: str) -> None:
    raw = sent(library, Y)
    for array in (raw, held(raw)):
        assert is_device_array(array)
        with pytest.raises(InvalidTypeError, match=r"^labels must be a NumPy array here; found an array of .*Nothing"):
            require_host(array, "labels")
        np.testing.assert_array_equal(on_host(array), Y)
    require_host(Y, "labels")
    require_host([1.0], "labels")


def test_matrices_and_indices_are_made_there_and_once(library: str) -> None:
    device = device_for(sent(library, Y), "Y")
    X, i = matrix_on(device, Y), indices_on(device, np.array([2, 0]))
    assert isinstance(X, DeviceMatrix)
    assert isinstance(held(sent(library, Y), "X", DeviceMatrix), DeviceMatrix)
    np.testing.assert_array_equal(on_host(DeviceArray(X.raw, device)[i]), Y[[2, 0]])
    made: list[int] = []
    kept: dict[object, int] = {}
    for _ in range(3):
        assert once(kept, device, lambda: made.append(1) or 5) == 5  # type: ignore[func-returns-value,arg-type]
    assert made == [1]
