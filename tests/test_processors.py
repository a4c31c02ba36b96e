"""The kernels under which .ci/processors runs the numerical tests: by the flags of a processor, never none of them."""

import os
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "processors"
SSE = {"pni", "ssse3", "sse4_1", "sse4_2"}
AVX2 = {*SSE, "avx", "avx2", "fma"}
AVX512 = {*AVX2, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    loader = SourceFileLoader("processors", str(SCRIPT))
    spec = spec_from_loader("processors", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("native", "have", "run", "missing"),
    [
        ("SapphireRapids", AVX512, ["Prescott", "Nehalem", "Sandybridge"], {}),
        ("SkylakeX", AVX512, ["Prescott", "Nehalem", "Sandybridge"], {}),
        ("Haswell", AVX2, ["Prescott", "Nehalem", "Sandybridge"], {"SkylakeX": "avx512bw"}),
        ("Zen", AVX512, ["Prescott", "Nehalem", "SkylakeX"], {}),
        ("Nehalem", SSE, ["Prescott"], {"SkylakeX": "avx2", "Haswell": "avx2", "Sandybridge": "avx"}),
        ("neoversen1", set(), [], {"SkylakeX": "avx512f", "Prescott": "pni"}),
    ],
)
def test_the_kernels_that_differ_most_and_can_run(script, native, have, run, missing):
    found, skipped = script.sorted_out([], native, have)
    assert sorted(found) == sorted(run)
    assert len(found) <= script.WANTED
    assert not set(found) & set(skipped)
    for kernel, flag in missing.items():
        if flag not in have:
            assert "this processor has no" in skipped[kernel]
    family = script.FAMILIES.get(native, native)
    assert set(found) | set(skipped) | {family} >= set(script.KERNELS)


def test_kernels_that_are_named_run_if_they_can(script):
    assert script.sorted_out(["SkylakeX", "Haswell"], "Haswell", AVX2)[0] == ["Haswell"]
    assert list(script.sorted_out(["SkylakeX"], "Haswell", AVX2)[1]) == ["SkylakeX"]
    with pytest.raises(SystemExit, match="kernel must be one of SkylakeX"):
        script.sorted_out(["Pentium"], "Haswell", AVX2)


def test_no_kernel_at_all_is_a_failure(script, monkeypatch, capsys):
    monkeypatch.setattr(script, "flags", set)
    monkeypatch.setattr(script, "in_use", lambda kernel: "armv8")
    monkeypatch.setattr(script, "tested", None)  # nothing is run
    assert script.main([]) == 1
    said = capsys.readouterr().out
    for kernel in script.KERNELS:
        assert f"{kernel}: skipped, this processor has no" in said
    assert "no kernel could run" in said


def test_a_kernel_that_openblas_does_not_take_is_skipped_and_a_failure_is_shown(script, monkeypatch, capsys):
    monkeypatch.setattr(script, "flags", lambda: AVX2)
    monkeypatch.setattr(script, "in_use", lambda kernel: "Haswell" if kernel in (None, "Sandybridge") else kernel)
    codes = {"Nehalem": 0, "Prescott": 1}
    monkeypatch.setattr(script, "tested", lambda kernel: (kernel, codes[kernel], 1.0, f"log of {kernel}\nlast line"))
    assert script.main([]) == 1
    said = capsys.readouterr().out
    assert "Sandybridge: skipped, OpenBLAS runs Haswell in its place" in said
    assert "log of Prescott" in said
    assert "log of Nehalem" not in said
    codes["Prescott"] = 0
    assert script.main([]) == 0


def test_what_is_run_is_there_and_the_checks_call_it(script):
    assert os.access(SCRIPT, os.X_OK)
    for each in script.NUMERICAL:
        assert (ROOT / "tests" / each).exists(), each
    assert ".ci/processors" in (ROOT / ".ci" / "run").read_text()
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert ".ci/processors ${{ matrix.kernels }}" in workflow
    named = next(line for line in workflow.splitlines() if line.strip().startswith("kernels:"))
    assert all(kernel in named for kernel in script.KERNELS)


def test_a_kernel_is_what_numpy_then_reports(script):
    """Under a kernel that is asked for; skipped where OpenBLAS is not what NumPy uses."""
    run, _ = script.sorted_out([], script.in_use(None), script.flags())
    if not run:
        pytest.skip("no other kernel of OpenBLAS runs here")
    assert script.FAMILIES.get(found := script.in_use(run[0]), found) == run[0]
