"""The benchmark of devices runs at small sizes wherever PyTorch is, and says so where nothing is found."""

from __future__ import annotations

import re

import pytest

from benchmarks import gpu


def test_small_sizes_run_on_the_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    assert gpu.main(["--quick", "--device", "cpu"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("torch on cpu")
    rows = [line for line in lines if not line.startswith(" ")]
    assert [row.partition(":")[0] for row in rows] == [
        "KTA", "leading eigenpairs", "pairs along a line", "their adjoint",
    ]  # fmt: skip
    assert all(" times " in row and "nan" not in row for row in rows)
    counts = [tuple(map(int, re.findall(r"\d+", line))) for line in lines if "launches" in line]
    assert len(counts) == 2
    for waits, sent, launched in counts:  # as many for any size
        assert waits == 3
        assert 0 < sent <= 5
        assert 20 < launched <= 60
    assert sum("the host takes" in line for line in lines) == 2


def test_without_a_device_the_exit_code_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    def absent(library: str, quick: bool, place: str) -> None:
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu, "sample", absent)
        assert gpu.main([]) == gpu.NO_DEVICE != 0
    assert "No device found: torch is not installed, or sees no GPU." in capsys.readouterr().out
    assert gpu.sample("a_library_that_is_not_there", True) is None
