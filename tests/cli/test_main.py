"""The command as a whole: exit codes, errors and warnings in one line each; its parts env, list, bench, check."""

import getpass
import os
import subprocess
import sys
import warnings
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psdopt
from psdopt.cli.main import main
from psdopt.plugins import PluginManager, plugin_manager
from psdopt.plugins.core import psdopt_components
from psdopt.testing import cli as kit
from psdopt.version import __version__
from tests.running.test_driver import raising

Command = Any


def test_unforeseen_errors_are_one_line_and_debug_shows_the_traceback(psdopt_command: Command) -> None:
    code, out, err = psdopt_command("run", "unforeseen")
    assert (code, out) == (3, "")
    assert err == (
        "psdopt: error: ZeroDivisionError: by zero; psdopt did not foresee this, add --debug to see where it arose\n"
    )
    for argv in (("--debug", "run", "unforeseen"), ("run", "unforeseen", "--debug")):
        with pytest.raises(ZeroDivisionError):
            psdopt_command(*argv)


CORNERS = np.kron(np.eye(2) * 30.0, np.ones((14, 1))) + np.random.default_rng(0).random((28, 2))
FLAT = {"X": np.random.default_rng(0).standard_normal((30, 3)), "y": np.zeros(30)}


@pytest.mark.parametrize(
    ("application", "arrays", "start", "end"),
    [
        ("mvu", {"X": CORNERS}, "the graph of --set n_neighbors=12 has 2 components; the ",
         "; add --set disconnected=separate to unfold each by itself"),
        ("psd-regression", FLAT, "the learned matrix is M = 0", ""),  # of every fit of a cross-validation, once
    ],
)  # fmt: skip
def test_what_an_estimator_warns_of_is_one_line_in_the_words_of_the_command(
    application: str, arrays: Any, start: str, end: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    np.savez(tmp_path / "d.npz", **arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["run", application, "--data", str(tmp_path / "d.npz")]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"psdopt: warning: {start}")
    assert line.endswith(end)


def test_interruption_and_a_lack_of_memory_outside_the_solver(
    psdopt_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psdopt.cli.run.load_dataset", raising(MemoryError("Unable to allocate 3 TiB")))
    told = "psdopt: error: out of memory: Unable to allocate 3 TiB\n"
    assert psdopt_command("run", "scatter") == (1, "", told)
    monkeypatch.setattr("psdopt.cli.run.load_dataset", raising(KeyboardInterrupt()))
    assert psdopt_command("run", "scatter") == (130, "", "psdopt: error: interrupted\n")
    with pytest.raises(KeyboardInterrupt):  # the traceback shows where it hung
        psdopt_command("--debug", "run", "scatter")


def test_help_and_version(psdopt_command: Command) -> None:
    code, out, _ = psdopt_command()
    assert code == 2
    assert "commands:" in out
    code, out, _ = psdopt_command("run", "--help")
    assert code == 0
    assert "psdopt run metric-kta --data digits --plot metric.png" in out
    assert psdopt_command("--version")[1].startswith("psdopt ")


def test_python_dash_m_is_the_command() -> None:
    command = [sys.executable, "-m", "psdopt"]
    run = subprocess.run([*command, "list", "methods"], capture_output=True, text=True, check=True, timeout=120)
    assert "conjugate-gradient" in run.stdout
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    wrong = subprocess.run(
        [*command, "run", "no ⪰ such"], capture_output=True, env=environment, check=False, timeout=120
    )
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
    assert b"unknown application 'no >= such'" in wrong.stderr


def test_versions_blas_and_plugins_are_printed(psdopt_command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("psdopt.cli.env.PACKAGES", ("numpy", "no-such-package"))
    code, out, err = psdopt_command("env")
    assert (code, err) == (0, "")
    for text in (f"psdopt {__version__}", np.__version__, "not installed", "OMP_NUM_THREADS=1", "fake", "threads"):
        assert text in out
    assert os.getcwd() not in out
    assert getpass.getuser() not in out.split() or getpass.getuser() == "psdopt"


def test_everything_is_listed_with_plugin_and_summary(psdopt_command: Any) -> None:
    code, out, err = psdopt_command("list", "--all")
    assert (code, err) == (0, "")
    for title in ("Applications", "Problems", "Geometries", "Methods", "Datasets"):
        assert title in out
    for spec in psdopt_components():
        line = next(line for line in out.splitlines() if line.split()[:1] == [spec.name])
        assert line.split()[1] == "psdopt"
        assert spec.summary in line
    for application in (["scatter", "fake"], ["sdp", "psdopt"]):  # and the command for files of semidefinite programs
        assert any(line.split()[:2] == application for line in out.splitlines())


def test_the_list_of_the_shipped_plugins_fits_a_screen(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = [spec.name for spec in plugin_manager().listed("application")]
    for height in (24, len(names) + 4):  # sdp is one more
        monkeypatch.setenv("LINES", str(height))
        assert main(["list"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) <= height - 1  # one of which shows the next prompt
        assert max(map(len, lines)) <= 80
        assert {*names, "sdp"} <= {word.strip(",") for line in lines for word in line.split()}
        assert "`psdopt list applications` says" in " ".join(lines)
    monkeypatch.setenv("LINES", str(len(names) + 5))
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= len(names) + 4
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[1:-2]] == sorted([*names, "sdp"])
    assert "psdopt list --all" in lines[-1]
    assert not [line for line in lines if "..." in line]
    monkeypatch.setenv("COLUMNS", "50")
    assert main(["list"]) == 0
    assert "...\n" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["method", "methods"])
def test_one_kind(psdopt_command: Any, word: str) -> None:
    code, out, _ = psdopt_command("list", word)
    assert code == 0
    assert "Methods" in out
    assert "Geometries" not in out


def test_broken_plugins_are_named_once_and_other_commands_warn_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    entry = EntryPoint("absent", "no_such_module_of_psdopt", "psdopt")
    broken, again = (PluginManager([entry], core=False) for _ in range(2))
    told = (
        "not loaded: plugin 'absent': cannot import no_such_module_of_psdopt: "
        "ModuleNotFoundError: No module named 'no_such_module_of_psdopt'"
    )
    assert main(["list", "applications"], broken) == 0
    assert capsys.readouterr() == (f"No applications installed.\n\n! {told}\n", "")
    assert main(["run", "scatter"], again) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"psdopt: warning: {told}",
        "psdopt: error: unknown application 'scatter'; known: none; not loaded: 'absent' (`psdopt list` says why)",
    ]


@pytest.mark.filterwarnings("default::FutureWarning")
def test_it_says_what_to_write_and_hands_over(psdopt_command: Any) -> None:
    code, out, err = psdopt_command("bench")
    assert code == 0
    assert "mvu" in out
    assert err == (
        "psdopt: warning: psdopt bench is deprecated, removed in 0.4: run `python -m benchmarks` in the repository\n"
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


@pytest.fixture
def kit_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Calls of a kit that passes whatever it is handed, but the target "fake"."""
    calls: list[Any] = []
    monkeypatch.setattr(
        kit, "run_check", lambda target, **rest: calls.append((target, sorted(rest))) or target == "fake"
    )
    return calls


def test_check_hands_over_to_the_kit(psdopt_command: Any, kit_calls: list[Any]) -> None:
    assert psdopt_command("check", "fake", "--seed", "3")[0] == 1
    assert kit_calls == [("fake", ["manager", "profile", "seed", "up_to"])]


@pytest.mark.usefixtures("kit_calls")
def test_check_fails_where_the_plugin_was_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """By the plugin's name and by its module, though every piece that can be made passes."""
    broken = PluginManager([EntryPoint("absent", "no_such_module_of_psdopt", "psdopt")])
    for target, code in (("absent", 1), ("no_such_module_of_psdopt", 1), ("other", 0)):
        assert main(["check", target], broken) == code
        out = capsys.readouterr().out
        assert ("! not loaded: plugin 'absent'" in out) == (code == 1)
