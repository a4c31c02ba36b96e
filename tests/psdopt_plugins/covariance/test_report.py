"""What `psdopt run sparse-precision` says, writes and draws: proof, links, choice of alpha, matrices, refusals."""

import json

import numpy as np
import pytest

from psdopt import Status
from psdopt.cli.main import main
from psdopt.errors import InvalidInputError
from psdopt.plugins import Dataset, RunOptions, plugin_manager
from psdopt_plugins.covariance import SparsePrecision, linked_variables, precision_report
from psdopt_plugins.covariance.report import partial_correlations

GRID = {"alpha": (0.01, 0.1, 0.5)}


def test_the_chain_is_found_and_proven():
    report = precision_report(SparsePrecision(0.1), linked_variables(), RunOptions())
    rows, M = dict(report.rows), report.arrays["precision"]
    assert report.success
    assert float(rows["no M has a lower F than (proven)"]) <= float(rows["objective F(M)"])
    strong = np.abs(np.triu(partial_correlations(M), 1)) > 0.15
    np.testing.assert_array_equal(strong, np.eye(len(M), k=1, dtype=bool))
    assert rows["linked pairs"].startswith(f"{np.count_nonzero(np.triu(M, 1))} of 300 ")
    assert len(report.figure().axes) == 3  # two panels and a scale of colours
    assert len(report.run_figure().axes) == 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [0.02, 0.1, 2.0])
def test_the_certificate_agrees_with_the_estimator(seed, alpha):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    X = rng.standard_normal((n, n)) @ (np.eye(n) + (rng.random((n, n)) < 2.0 / n))
    estimator = SparsePrecision(alpha)
    report = precision_report(estimator, Dataset("drawn", X), RunOptions())
    certificate = report.result.certificate
    assert report.success
    assert certificate.gap == pytest.approx(estimator.gap_, abs=1e-3 * estimator.tol * n)
    assert not certificate.unit > 0.0 or certificate.proves(report.result.tol)
    assert n - report.result.value == pytest.approx(estimator.bound_, abs=1e-3 * estimator.tol * n)


def test_a_run_that_is_cut_is_no_success():
    options = RunOptions(tol=1e-15, max_iterations=1)
    report = precision_report(SparsePrecision(0.05), linked_variables(), options)
    assert not report.success
    assert report.result.status is Status.ITERATION_LIMIT
    assert report.result.certificate.gap > 1e-15 * 25
    assert dict(report.rows)["tolerance"].startswith("1e-15 n")
    ended = precision_report(SparsePrecision(0.05, max_iter=10_000), linked_variables(), RunOptions(tol=1e-15))
    assert ended.success or ended.result.status is Status.NO_PROGRESS


def test_alpha_is_chosen_by_the_likelihood_unless_it_is_given():
    data = linked_variables()
    report = precision_report(SparsePrecision(), data, RunOptions(grid=GRID))
    assert dict(report.rows)["alpha, by 5-fold cross-validation"] == "0.1 of 0.01, 0.1, 0.5"
    few = precision_report(SparsePrecision(0.2), Dataset("few", data.X[:9]), RunOptions(grid=GRID))
    assert "alpha, by 5-fold cross-validation" not in dict(few.rows)
    assert dict(few.rows)["alpha"] == "0.2"


def test_features_that_do_not_vary_are_left_out_and_units_do_not_count():
    X = linked_variables().X[:, :6]
    plain = precision_report(SparsePrecision(0.1), Dataset("plain", X), RunOptions())
    odd = np.insert(X * [1e-6, 1.0, 1e6, 1.0, 1.0, 1.0] + 3.0, 2, 7.0, axis=1)
    other = precision_report(SparsePrecision(0.1), Dataset("odd", odd, feature_names=list("abcdefg")), RunOptions())
    assert dict(other.rows)["left out"] == "1 of 7 features, which do not vary"
    np.testing.assert_array_equal(other.arrays["variables"], [0, 1, 3, 4, 5, 6])
    np.testing.assert_allclose(other.arrays["precision"], plain.arrays["precision"], atol=1e-4)
    assert dict(other.rows)["strongest link"].partition(",")[0] in {
        "a and b",
        "b and d",
        "d and e",
        "e and f",
        "f and g",
    }
    with pytest.raises(InvalidInputError, match="needs at least 2 features that vary; found 1"):
        precision_report(SparsePrecision(), Dataset("one", odd[:, 1:3]), RunOptions())


def test_no_link_is_told():
    report = precision_report(SparsePrecision(5.0), linked_variables(), RunOptions())
    rows = dict(report.rows)
    assert report.success
    assert rows["linked pairs"] == "0 of 300 (0.0 %)"
    assert "strongest link" not in rows


def test_a_covariance_from_a_file(tmp_path, capsys):
    X = linked_variables().X[:, :5]
    np.savez(tmp_path / "S.npz", K=np.cov(X.T))
    out = tmp_path / "out.npz"
    words = ["--data", str(tmp_path / "S.npz"), "--set", "alpha=0.3", "--tol", "1e-9", "--output", str(out)]
    assert main(["run", "sparse-precision", *words, "--plot", str(tmp_path / "a.png")]) == 0
    assert "order 5" in capsys.readouterr().out
    with np.load(out, allow_pickle=False) as saved:
        expected = SparsePrecision(0.3, covariance="precomputed", tol=1e-9).fit(np.cov(X.T))
        np.testing.assert_allclose(saved["precision"], expected.precision_, atol=1e-12)
        assert json.loads(str(saved["summary"]))["status"] == "optimal"
    assert (tmp_path / "a.png").stat().st_size > 0


def test_options_that_it_cannot_follow_are_refused(capsys):
    assert main(["run", "sparse-precision", "--max-time", "1"]) == 2
    assert "max_time" in capsys.readouterr().err.replace("-", "_")
    assert main(["run", "sparse-precision", "--rank", "2"]) == 2


def test_the_data_set_is_the_same_every_time():
    data = plugin_manager().get("dataset", "linked_variables").factory()
    np.testing.assert_array_equal(data.X, linked_variables().X)
