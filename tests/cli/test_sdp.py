"""``psdopt run sdp``: a program in SDPA's format in, a solution with its proof out."""

import json

import numpy as np
import pytest

from psdopt.cli.main import main
from tests.constraints.test_sdpa import SPARSE

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
