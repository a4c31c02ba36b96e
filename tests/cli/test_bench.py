"""``psdopt bench`` runs benchmarks of the checkout, or says what is missing."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

import psdopt
from psdopt.cli import bench

GOOD = '"""Times nothing.\n\nAt length."""\n\ndef main(argv):\n    print("ran", argv)\n    return len(argv)\n'


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose benchmarks/ is importable under a name of its own."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "psdopt"\n')
    (folder / "speed_test.py").write_text(GOOD)
    (folder / "helper.py").write_text('"""No main here."""\n')
    (folder / "broken.py").write_text("def main(:\n")
    monkeypatch.setattr(psdopt, "__file__", str(tmp_path / "psdopt" / "__init__.py"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        del sys.modules[name]


def test_benchmarks_are_listed_without_importing_them(psdopt_command: Any, checkout: Path) -> None:
    code, out, _ = psdopt_command("bench")
    assert code == 0
    assert "speed_test" in out
    assert "Times nothing." in out
    assert "helper" not in out
    assert "cannot be read: invalid syntax" in out
    for path in checkout.iterdir():
        path.unlink()
    assert psdopt_command("bench")[1] == f"No benchmarks in {checkout}.\n"


def test_a_benchmark_gets_its_arguments_and_gives_the_exit_code(psdopt_command: Any, checkout: Path) -> None:
    code, out, _ = psdopt_command("bench", "speed-test", "--size", "3")
    assert (code, out) == (2, "ran ['--size', '3']\n")
    assert psdopt_command("bench", "speed_test")[0] == 0


def test_unknown_benchmarks_and_no_checkout(
    psdopt_command: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, _, err = psdopt_command("bench", "sped-test")
    assert (code, err) == (2, "psdopt: error: unknown benchmark 'sped-test'; did you mean 'speed_test'?\n")
    refusal = (
        "psdopt: error: benchmarks are not installed with psdopt: clone the repository, "
        "install it there with `pip install -e .`, and run `psdopt bench` again\n"
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(checkout.parent)  # a folder with benchmarks/, but not where psdopt runs from
    monkeypatch.setattr(psdopt, "__file__", str(tmp_path / "elsewhere" / "psdopt" / "__init__.py"))
    assert psdopt_command("bench", "speed-test") == (2, "", refusal)
    monkeypatch.setattr(psdopt, "__file__", str(tmp_path / "psdopt" / "__init__.py"))
    assert bench.benchmark_folder() == checkout
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "another"\n')
    assert psdopt_command("bench") == (2, "", refusal)


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "benchmarks").glob("*.py")), ids=lambda p: p.stem)
def test_every_benchmark_takes_its_arguments_from_the_command(path: Path) -> None:
    """``psdopt bench NAME ...`` calls main(argv) and exits with what it returns."""
    functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    for entry in (node for node in functions if node.name == "main"):
        assert [argument.arg for argument in entry.args.args] == ["argv"]
        assert entry.returns is not None
        assert ast.unparse(entry.returns) == "int"
