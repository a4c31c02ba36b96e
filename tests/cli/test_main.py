"""The command as a whole: exit codes, errors and warnings in one line each, help, interruption."""

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psdopt.cli.main import main

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


def test_what_an_estimator_warns_of_is_one_line_in_the_words_of_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    corners = np.kron(np.eye(2) * 30.0, np.ones((6, 1))) + np.random.default_rng(0).random((12, 2))
    np.savez(tmp_path / "two.npz", X=corners)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["run", "mvu", "--data", str(tmp_path / "two.npz")]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("psdopt: warning: the graph of --set n_neighbors=4 has 2 components; the ")
    assert line.endswith("; add --set disconnected=separate to unfold each by itself")


def test_what_every_fit_of_a_cross_validation_warns_of_is_said_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    np.savez(tmp_path / "flat.npz", X=np.random.default_rng(0).standard_normal((30, 3)), y=np.zeros(30))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["run", "psd-regression", "--data", str(tmp_path / "flat.npz")]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("psdopt: warning: the learned matrix is M = 0")


def test_interruption_outside_the_solver(psdopt_command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("psdopt.cli.run.load_dataset", interrupt)
    assert psdopt_command("run", "scatter") == (130, "", "psdopt: error: interrupted\n")
    with pytest.raises(KeyboardInterrupt):  # the traceback shows where it hung
        psdopt_command("--debug", "run", "scatter")


def test_a_lack_of_memory_outside_the_solver(psdopt_command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError("Unable to allocate 3 TiB")

    monkeypatch.setattr("psdopt.cli.run.load_dataset", fail)
    told = "psdopt: error: out of memory: Unable to allocate 3 TiB\n"
    assert psdopt_command("run", "scatter") == (1, "", told)


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
