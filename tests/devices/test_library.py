"""Devices: found once for each library and place, float64 or an error; arrays that come, go and are refused by name."""

import pickle
import subprocess
import sys

import array_api_strict
import numpy as np
import pytest

from psdopt import devices
from psdopt.devices.library import device_for
from psdopt.errors import InvalidInputError, InvalidTypeError, MissingDependencyError
from tests.devices.libraries import fetched, is_of, sent


def test_a_device_is_found_once_and_arrays_come_and_go(library: str) -> None:
    X = np.arange(6.0).reshape(3, 2)
    device = device_for(sent(library, X), "X")
    assert device is device_for(sent(library, X[:, 0]), "y")
    assert "device1" in str(device) if library == "strict" else str(device) == "torch on cpu"
    device.transfers.clear()
    there = device.send(X)
    assert is_of(library, there)
    np.testing.assert_array_equal(device.fetch(there), X)
    assert device.number(device.xp.sum(there)) == 15.0
    transfers = device.transfers
    assert (transfers.to_device, transfers.to_host, transfers.most_rows) == (1, 2, 3)


def test_devices_of_one_library_are_told_apart() -> None:
    one, other = (
        device_for(array_api_strict.zeros(2, device=array_api_strict.Device(name)), "X")
        for name in ("device1", "CPU_DEVICE")
    )
    assert one is not other


def test_arrays_are_held_in_double_precision(library: str) -> None:
    whole = devices.held(sent(library, np.array([[1, 2], [3, 4]])), "X")
    assert whole.dtype == np.float64
    np.testing.assert_array_equal(devices.on_host(whole), [[1.0, 2.0], [3.0, 4.0]])
    single = devices.held(sent(library, np.ones((2, 2), dtype=np.float32)), "X")
    assert single.dtype == np.float64
    double = sent(library, np.ones((2, 2)))
    assert (
        devices.released(devices.held(double)) is double or library == "torch"
    )  # PyTorch makes a view without history
    with pytest.raises(InvalidTypeError, match=r"X must hold real numbers; found dtype .*complex"):
        devices.held(sent(library, np.ones((2, 2)) * 1j), "X")
    for bad in (np.nan, np.inf):
        with pytest.raises(InvalidInputError, match="X must be finite; found 1 NaN or infinite entries"):
            devices.held(sent(library, np.array([[1.0, bad]])), "X")


def test_what_is_sent_is_a_copy_and_a_tensor_that_records_operations_loses_the_record() -> None:
    torch = pytest.importorskip("torch")
    X = np.ones((2, 2))
    there = device_for(sent("torch", X), "X").send(X)
    there += 1.0
    assert X.sum() == 4.0
    kept = devices.held(torch.ones((2, 2), dtype=torch.float64, requires_grad=True))
    assert not (kept * 2.0).raw.requires_grad


def test_a_device_without_double_precision_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = sent("strict", np.ones((2, 2), dtype=np.float32))
    device = device_for(raw, "X")

    def refuses(array: object, dtype: object) -> None:
        raise TypeError("no float64 here")

    monkeypatch.setattr(device.xp, "astype", refuses)
    with pytest.raises(InvalidTypeError, match=r"X must be on a device that computes in float64; found .*device1"):
        device.real(raw, "X")


def test_without_array_api_compat_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(MissingDependencyError, match=r"X is a Array: .* pip install 'psdopt\[gpu\]'"):
        device_for(sent("strict", np.ones(2)), "X")


def test_arrays_can_be_pickled(library: str) -> None:
    kept = devices.held(sent(library, np.arange(4.0)))
    again = pickle.loads(pickle.dumps(kept))
    np.testing.assert_array_equal(fetched(again.raw), np.arange(4.0))
    assert again.device is kept.device


def test_no_library_is_imported_for_numpy() -> None:
    code = (
        "import sys, numpy as np, psdopt; psdopt.solve(psdopt.QuadraticSDP(np.eye(3), 1.0, -np.eye(3)));"
        "print([m for m in ('array_api_compat', 'torch', 'cupy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"


Y = np.arange(12.0).reshape(6, 2)


def test_arrays_are_placed_where_the_data_are(library: str) -> None:
    kept = devices.held(sent(library, Y), "Y")
    device = kept.device
    assert devices.placed(Y, device, "Y").device is device
    assert devices.placed(kept, device, "Y") is kept
    assert is_of(library, devices.released(devices.placed([[1, 2]], device)))
    with pytest.raises(InvalidInputError, match="Y must be finite; found 1 NaN"):
        devices.placed(np.array([[np.nan]]), device, "Y")
    other = sent("strict" if library == "torch" else "torch", Y)
    with pytest.raises(InvalidInputError, match=r"Y must be a NumPy array or one of .*, like the data; found"):
        devices.placed(other, device, "Y")


def test_the_device_of_an_array_is_known_raw_or_held(library: str) -> None:
    raw = sent(library, Y)
    assert devices.device_of(raw) is devices.device_of(devices.held(raw)) is device_for(raw, "Y")
    for plain in (Y, np.float64(1.0), 1.0, None, [1.0], "x"):
        assert devices.device_of(plain) is None
        assert not devices.is_device_array(plain)
        for same in (devices.released, devices.held, devices.on_host):
            assert same(plain) is plain


def test_only_arrays_of_other_libraries_are_refused_on_the_host(library: str) -> None:
    raw = sent(library, Y)
    for array in (raw, devices.held(raw)):
        assert devices.is_device_array(array)
        with pytest.raises(InvalidTypeError, match=r"^labels must be a NumPy array here; found an array of .*Nothing"):
            devices.require_host(array, "labels")
        np.testing.assert_array_equal(devices.on_host(array), Y)
    devices.require_host(Y, "labels")
    devices.require_host([1.0], "labels")


def test_matrices_and_indices_are_made_there_and_once(library: str) -> None:
    device = device_for(sent(library, Y), "Y")
    X, i = devices.matrix_on(device, Y), devices.indices_on(device, np.array([2, 0]))
    assert isinstance(X, devices.DeviceMatrix)
    assert isinstance(devices.held(sent(library, Y), "X", devices.DeviceMatrix), devices.DeviceMatrix)
    np.testing.assert_array_equal(devices.on_host(devices.DeviceArray(X.raw, device)[i]), Y[[2, 0]])
    made: list[int] = []
    kept: dict[object, int] = {}
    for _ in range(3):
        assert devices.once(kept, device, lambda: made.append(1) or 5) == 5  # type: ignore[func-returns-value,arg-type]
    assert made == [1]
