"""``psdopt bench``, deprecated, hands its arguments to ``python -m benchmarks`` of the checkout."""

from pathlib import Path
from typing import Any

import pytest

import psdopt


@pytest.mark.filterwarnings("default::FutureWarning")
def test_it_says_what_to_write_and_hands_over(psdopt_command: Any) -> None:
    code, out, err = psdopt_command("bench")
    assert code == 0
    assert "mvu" in out
    assert err == (
        "psdopt: warning: psdopt bench is deprecated and goes in 0.3: run `python -m benchmarks` in the repository\n"
    )
    code, _, err = psdopt_command("bench", "mvvu", "--size", "3")
    assert code == 2
    assert err.endswith("psdopt: error: unknown benchmark 'mvvu'; did you mean 'mvu'?\n")


def test_without_a_checkout_nothing_is_run(
    psdopt_command: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Files in the current folder are never run, and a checkout is one of psdopt."""
    refusal = (
        "psdopt: error: benchmarks are not installed with psdopt: clone the repository, "
        "and run `python -m benchmarks` in it\n"
    )
    monkeypatch.setattr(psdopt, "__file__", str(tmp_path / "psdopt" / "__init__.py"))
    assert psdopt_command("bench", "mvu") == (2, "", refusal)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "another"\n')
    assert psdopt_command("bench") == (2, "", refusal)
