"""``python -m benchmarks`` lists and runs the files of its folder."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import FOLDER, main

GOOD = '"""Times nothing.\n\nAt length."""\n\ndef main(argv):\n    print("ran", argv)\n    return len(argv)\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that can be imported under a name of its own."""
    folder = tmp_path / "measurements"
    folder.mkdir()
    (folder / "speed_test.py").write_text(GOOD)
    (folder / "helper.py").write_text('"""No main here."""\n')
    (folder / "broken.py").write_text("def main(:\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "measurements"]:
        del sys.modules[name]


def test_benchmarks_are_listed_without_importing_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], folder) == 0
    out = capsys.readouterr().out
    assert "speed_test" in out
    assert "Times nothing." in out
    assert "helper" not in out
    assert "cannot be read: invalid syntax" in out


def test_a_benchmark_gets_its_arguments_and_gives_the_exit_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["speed-test", "--size", "3"], folder) == 2
    assert capsys.readouterr().out == "ran ['--size', '3']\n"
    assert main(["speed_test"], folder) == 0
    assert main(["sped-test"], folder) == 2
    assert capsys.readouterr().err == "psdopt: error: unknown benchmark 'sped-test'; did you mean 'speed_test'?\n"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_every_benchmark_takes_its_arguments_from_the_command(path: Path) -> None:
    """``python -m benchmarks NAME ...`` calls main(argv) and exits with what it returns."""
    functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    for entry in (node for node in functions if node.name == "main"):
        assert entry.args.args[0].arg == "argv"
        assert entry.returns is not None
        assert ast.unparse(entry.returns) == "int"
