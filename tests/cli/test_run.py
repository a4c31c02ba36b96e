"""``psdopt run``: tables, exit codes, files, one-line errors that say what to do, programs in SDPA's format."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psdopt import Result
from psdopt.cli.main import main
from tests.constraints.test_sdpa import SPARSE

Command = Any


def test_a_run_prints_tables_and_succeeds(psdopt_command: Command) -> None:
    code, out, err = psdopt_command("run", "scatter")
    assert (code, err) == (0, "")  # no progress bar where standard error is no terminal
    for text in (
        "Scatter on blobs",
        "blobs: 31 samples to train, 14 to test, 4 features",
        "3-NN test error, Euclidean",
        "3-NN test error, learned metric",
        "optimal: the certificate proves a global optimum to the asked tolerance",
        "1e-06, relative; proof: the ",
        "ConjugateGradient, FlatQuotient(n=4, r=4)",
        "operator applications",
        "closed form F(M*)",
        "F(M) − F(M*)",
        "Optimality certificate, with S = ∇F(M)",
        "stationarity |S Y|",
        "dual infeasibility max(0, -lambda_min(S))",
        "complementarity |<S, M>|",
    ):
        assert text in out, text
    assert psdopt_command("run", "scatter", "--quiet") == (0, "", "")


def test_a_run_that_does_not_converge_fails(psdopt_command: Command) -> None:
    code, out, _ = psdopt_command("run", "scatter", "--max-iterations", "1", "--method", "lbfgs", "--tol", "1e-9")
    assert code == 1
    assert "the limit of 1 iterations was reached" in out


def test_method_geometry_rank_and_settings_reach_the_solver(psdopt_command: Command) -> None:
    _, out, _ = psdopt_command(
        "run", "scatter", "--method", "lbfgs", "--rank", "2", "--set", "method.memory=5", "--set", "lam=2",
        "--set", "centre=no",
    )  # fmt: skip
    assert "LBFGS, FlatQuotient(n=4, r=2)" in out
    _, out, _ = psdopt_command("run", "scatter", "--geometry", "flat-quotient", "--set", "geometry.r=3")
    assert "FlatQuotient(n=4, r=3)" in out
    code, out, _ = psdopt_command("run", "scatter", "--method", "eigen-splitting")
    assert code == 0
    assert "EigenSplitting, PSDCone(n=4)" in out
    assert "closed form F(M*)" not in out


def test_output_and_plot_are_written(psdopt_command: Command, tmp_path: Path) -> None:
    code, out, _ = psdopt_command("run", "scatter", "--output", tmp_path / "o.npz", "--plot", tmp_path / "p.png")
    assert code == 0
    assert f"Result written to {tmp_path}" in out.replace("\n", "")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    with np.load(tmp_path / "o.npz") as arrays:
        assert arrays["factor"].shape[0] == arrays["components"].shape[1] == 4
        assert arrays["history_value"].ndim == 1
        assert json.loads(str(arrays["summary"]))["status"] == "optimal"
    loaded = Result.load(tmp_path / "o.npz")
    assert loaded.optimal
    assert loaded.certificate.relative <= loaded.tol
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.npz", "p.png"]


def test_data_and_run_have_pictures_of_their_own(
    psdopt_command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, list[str]] = {}

    def keep(figure: Any, path: str) -> None:
        drawn[Path(path).name] = [axes.get_title().partition("\n")[0] for axes in figure.axes]

    monkeypatch.setattr("psdopt.cli.run.write_plot", keep)
    code, out, _ = psdopt_command(
        "run", "scatter", "--plot", tmp_path / "data.png", "--plot-run", tmp_path / "run.png"
    )  # fmt: skip
    assert code == 0
    assert out.count("Figure written to") == 2
    of_run = ["Objective, above the closed form's value", "Distance from proven optimality"]
    assert drawn == {"data.png": ["Before: standardised", "After: learned metric"], "run.png": of_run}
    psdopt_command("run", "plain", "--plot", tmp_path / "only.png")  # no picture of the data: that of the run
    assert drawn["only.png"][1:] == of_run[1:]
    code, _, err = psdopt_command("run", "scatter", "--plot-run", "a.jpg")
    assert (code, err) == (2, "psdopt: error: --plot-run must end in .png, .pdf, .svg; found 'a.jpg'\n")


@pytest.mark.parametrize(("suffix", "start"), [("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_plots_of_other_formats_and_json(psdopt_command: Command, tmp_path: Path, suffix: str, start: bytes) -> None:
    """Of an application without a report of its own, which gets the general one."""
    plot, numbers = tmp_path / f"p.{suffix}", tmp_path / "o.json"
    code, out, _ = psdopt_command("run", "plain", "--plot", plot, "--output", numbers)
    assert code == 0
    assert "Scatter on blobs" in out
    assert "3-NN" not in out
    assert plot.read_bytes().startswith(start)
    summary = json.loads(numbers.read_text())
    assert summary["success"] is True
    assert summary["report"]["data"] == "blobs: 45 samples, 4 features"


def test_runs_repeat_for_a_seed_and_differ_between_seeds(psdopt_command: Command, tmp_path: Path) -> None:
    values = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        psdopt_command("run", "scatter", "--seed", seed, "--quiet", "--output", tmp_path / f"{name}.json")
        values.append(json.loads((tmp_path / f"{name}.json").read_text())["value"])
    assert values[0] == values[1] != values[2]


ERRORS = [
    (("run", "scater"), "unknown application 'scater'; did you mean 'scatter'?"),
    (("run", "scatter", "--data", "blob"),
     "unknown data set 'blob'; did you mean 'blobs'?; a file must end in .npz, .npy, .csv, .tsv, .parquet, .zarr, .h5"),
    (("run", "scatter", "--method", "cg"), "unknown method 'cg'; known: admm, augmented-lagrangian, bilgo,"),
    (("run", "scatter", "--geometry", "flat-quot"), "unknown geometry 'flat-quot'; did you mean 'flat-quotient'?"),
    (("run", "scatter", "--set", "lamb=1"), "unknown parameter of application scatter 'lamb'; did you mean 'lam'?"),
    (("run", "scatter", "--set", "lam"), "--set takes NAME=VALUE, such as --set lam=0.1; found 'lam'"),
    (("run", "scatter", "--set", "=3"), "--set takes NAME=VALUE, such as --set lam=0.1; found '=3'"),
    (("run", "scatter", "--set", "method.=3"), "--set takes NAME=VALUE, such as --set lam=0.1; found 'method.=3'"),
    (("run", "scatter", "--set", "lam="), "--set lam: expected a number (weight of |M|²); found ''"),
    (("run", "scatter", "--set", "lam=x"), "--set lam: expected a number (weight of |M|²); found 'x'"),
    (("run", "scatter", "--set", "centre=2"), "--set centre: expected true or false (not used); found '2'"),
    (("run", "scatter", "--set", "lam=1", "--set", "lam=2"), "--set lam is given twice"),
    (("run", "scatter", "--set", "solver.x=1"),
     "--set solver.x: the part before the dot must be method or geometry; found 'solver'"),
    (("run", "scatter", "--set", "method.memory=1"), "--set method.memory=... needs --method NAME"),
    (("run", "scatter", "--set", "geometry.r=1"), "--set geometry.r=... needs --geometry NAME"),
    (("run", "scatter", "--method", "lbfgs", "--set", "method.memory=0.5"),
     "--set memory: expected an integer (pairs kept); found '0.5'"),
    (("run", "scatter", "--method", "lbfgs", "--set", "method.memory=0"),
     "memory must be an integer of at least 1; found 0"),
    (("run", "scatter", "--geometry", "flat-quotient"), "--geometry flat-quotient needs a rank; add --rank R"),
    (("run", "scatter", "--geometry", "psd-cone", "--rank", "2"),
     "--geometry psd-cone has no rank; leave out --rank"),
    (("run", "scatter", "--rank", "0"), "--rank must be at least 1; found 0"),
    (("run", "scatter", "--rank", "9"), "rank must lie between 1 and the order n = 4; found 9"),
    (("run", "scatter", "--tol", "0"), "--tol must lie between 0 and 1; found 0"),
    (("run", "scatter", "--max-iterations", "-1"), "--max-iterations must be at least 0; found -1"),
    (("run", "scatter", "--max-time", "nan"), "--max-time (seconds) must be at least 0; found nan"),
    (("run", "scatter", "--seed", "-1"), "--seed must lie between 0 and 2^32 - 1; found -1"),
    (("run", "scatter", "--seed", "12345678901234"), "--seed must lie between 0 and 2^32 - 1; found 12345678901234"),
    (("run", "scatter", "--plot", "a.jpg"), "--plot must end in .png, .pdf, .svg; found 'a.jpg'"),
    (("run", "scatter", "--output", "a.txt"), "--output must end in .npz, .json; found 'a.txt'"),
    (("run", "scatter", "--plot", "no/such/a.png"),
     f"--plot: cannot write no/such/a.png: the folder {Path.cwd()}/no/such does not exist; make it first"),
    (("run", "scatter", "--data", "no/such.csv"), "cannot read no/such.csv: No such file or directory"),
    (("run", "bare", "--tol", "0.1"), "Bare takes no solver_options, through which a run sets tol"),
    (("run", "scatter", "--method", "lbfgs", "--geometry", "psd-cone", "--quiet"),
     "QuadraticSDP, PSDCone and LBFGS do not work together; missing: "),
    (("run", "scatter", "--tol", "x"), "argument --tol: invalid float value: 'x'; `psdopt run --help` shows the usage"),
    (("run",), "the following arguments are required: APPLICATION; `psdopt run --help` shows the usage"),
    (("check",), "psdopt check needs a TARGET, the name of a plugin or of one of its pieces, or --list"),
    (("list", "ovens"), "argument KIND: invalid choice: 'ovens'"),
    (("fly",), "argument COMMAND: invalid choice: 'fly'"),
]  # fmt: skip


@pytest.mark.parametrize(("argv", "text"), ERRORS, ids=[" ".join(argv) for argv, _ in ERRORS])
def test_wrong_use_is_one_line_and_exit_code_2(psdopt_command: Command, argv: tuple[str, ...], text: str) -> None:
    code, out, err = psdopt_command(*argv)
    assert (code, out) == (2, "")
    assert err.startswith(f"psdopt: error: {text}")
    assert err.count("\n") == 1


def link_to_a_device(path: Path) -> Path:
    path.symlink_to("/dev/null")
    return path


def test_outputs_are_checked_before_the_computation(psdopt_command: Command, tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    code, _, err = psdopt_command("run", "unforeseen", "--plot", tmp_path / "folder.png")
    assert code == 2
    path = tmp_path / "folder.png"
    assert err == f"psdopt: error: --plot: cannot write {path}: it is a folder; name a file\n"
    if os.name == "nt":  # devices have other names, and links need a privilege
        return
    code, _, err = psdopt_command("run", "unforeseen", "--output", link_to_a_device(tmp_path / "null.npz"))
    assert code == 2
    assert err.endswith("it is a device, FIFO or socket; name a regular file\n")


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root, or Windows, may write everywhere")
def test_an_unwritable_folder_is_refused(psdopt_command: Command, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    code, _, err = psdopt_command("run", "unforeseen", "--plot", tmp_path / "a.png")
    tmp_path.chmod(0o700)
    assert code == 2
    assert err == f"psdopt: error: --plot: cannot write {tmp_path / 'a.png'}: Permission denied\n"


EMPTY = SPARSE.replace("{1.0, 3.0}", "{-1.0, 3.0}")


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "small.dat-s"
    path.write_text(SPARSE)
    return path


def test_the_result_file_holds_factor_multipliers_slack_and_errors(program, tmp_path, capsys) -> None:
    out = tmp_path / "solution.npz"
    assert main(["run", "sdp", "--data", str(program), "--output", str(out)]) == 0
    assert "proven bound" in capsys.readouterr().out
    with np.load(out) as found:
        summary = json.loads(str(found["summary"]))
        X = found["factor"] @ found["factor"].T
        y = found["y"]
        Z = np.zeros((4, 4))
        Z[found["Z_row"], found["Z_column"]] = found["Z_value"]
    assert summary["value"] == pytest.approx(-(1.0 + np.sqrt(3.0)), rel=2e-6)
    assert summary["certificate"]["dimacs"]["primal"] <= 1e-6
    assert np.linalg.eigvalsh(Z)[0] >= -1e-6
    C = -np.array([[1, 0.5, 0, 0], [0.5, 0, 0, 0], [0, 0, -2, 0], [0, 0, 0, 0]])
    assert np.allclose(Z, C + np.diag([y[0], y[1], y[0], y[1]]))
    assert abs(np.sum(Z * X)) <= 1e-5


def test_an_infeasible_program_is_an_answer(tmp_path, capsys) -> None:
    path = tmp_path / "empty.dat-s"
    path.write_text(EMPTY)
    assert main(["run", "sdp", "--data", str(path)]) == 0
    assert "no positive semidefinite matrix meets the constraints" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "sdp"], "needs --data"),
        (["run", "sdp", "--data", "absent.dat-s"], "cannot read"),
        (["run", "sdp", "--data", "FILE", "--set", "trace=2"], "trace_bound"),
        (["run", "sdp", "--data", "FILE", "--set", "trace_bound=-2"], "must be None or a finite number above 0"),
        (["run", "sdp", "--data", "FILE", "--method", "lbfgs"], "do not work together"),
    ],
)
def test_wrong_use_is_one_sentence(program, arguments, words, capsys) -> None:
    assert main([str(program) if word == "FILE" else word for word in arguments]) == 2
    assert words in capsys.readouterr().err
