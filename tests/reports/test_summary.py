"""Rows that every report shares."""

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, QuadraticSDP, solve
from psdopt.reports import CertificateTrace, RunOptions
from psdopt.reports.summary import proof_text, result_rows
from psdopt_plugins.metric_learning import LMNN
from psdopt_plugins.metric_learning.report import metric_report
from tests.cli.fakes import Scatter, blobs
from tests.reports.test_trace import random_problem


def test_closed_form_rows_of_a_rank_limited_run_show_what_the_rank_costs() -> None:
    estimator = Scatter()
    report = metric_report(estimator, blobs(), RunOptions(rank=1))
    found = dict(report.rows)
    free = float(found["closed form F(M*)"])
    assert free < float(found["objective F(M)"])
    assert float(found["F(M) − F(M*)"].split()[0]) == pytest.approx(estimator.result_.value - free, rel=1e-2)
    assert report.result.rank == 1


def test_operator_applications_do_not_count_the_certificates_of_the_curve() -> None:
    problem, plain = random_problem(), random_problem()
    trace = CertificateTrace()
    for each in (problem, plain):
        solve(each, method=ConjugateGradient(), max_iterations=1)  # what a problem computes once for certificates
    traced = solve(problem, method=ConjugateGradient(), callback=trace)
    untraced = solve(plain, method=ConjugateGradient())
    assert trace.applications > 0
    assert traced.counts["operator_applications"] - trace.applications == untraced.counts["operator_applications"]
    assert traced.value == untraced.value
    assert trace.problem is problem


def test_report_tells_the_last_round_from_all_of_them():
    """LMNN's result is that of its last round, which may have had nothing left to do."""
    report = metric_report(LMNN(), blobs(), RunOptions())
    (text,) = [value for label, value in report.rows if label == "iterations"]
    last = report.result.iterations
    assert text.startswith(f"{last} in the last round, ")
    assert int(text.split()[-3]) > last


def test_a_last_round_without_a_step_is_not_charged_for_the_certificates_of_the_round_before():
    problem, trace = random_problem(), CertificateTrace()
    first = solve(problem, method=ConjugateGradient(), callback=trace)
    last = solve(problem, method=ConjugateGradient(), callback=trace, start=first.matrix)
    assert last.iterations == 0 < trace.applications
    assert dict(result_rows(last, trace))["operator applications"] == str(last.counts["operator_applications"])


def test_the_tolerance_and_the_rows_that_prove_optimality_are_named():
    problem = QuadraticSDP(B=1.0, C=np.diag([-1.0, -2.0, 3.0]))
    result = solve(problem, tol=1e-7)
    assert proof_text(result).startswith("; proof: the ")
    assert dict(result_rows(result))["tolerance"].startswith("1e-07, relative; proof: the ")
    stopped = solve(problem, FlatQuotient(3, 1), max_iterations=0)
    assert proof_text(stopped) == ""
    assert dict(result_rows(stopped))["tolerance"] == "1e-06, relative"
