"""Barriers need no waivers, and wrong ones are rejected however many digits they lose."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import TermSum
from psdopt.plugins import ProblemSpec
from psdopt.terms import LinearTerm
from psdopt.testing import Builder, run_checks
from psdopt.testing.cli import targets
from tests.testing.barriers import (
    CholeskyLogDet,
    Likelihood,
    LogDet,
    ThinLogDet,
    WrongFormula,
    WrongGradient,
    WrongHessian,
    WrongLine,
    WrongPlane,
    covariance,
)


def failing(obj):
    return [record.name for record in run_checks(obj) if not record.ok]


@pytest.mark.parametrize(
    "make",
    [LogDet, ThinLogDet, partial(LogDet, delta=1e-4), partial(LogDet, delta=0.0), partial(LogDet, 9, 1e3)],
    ids=["in units of M", "by eigenvalues", "nearly singular", "on the interior alone", "large"],
)
def test_a_barrier_passes_in_every_regime(make):
    records = {record.name: record for record in run_checks(make())}
    assert [str(record) for record in records.values() if not record.ok] == []
    assert records["term.gradient_slope"].samples >= 8  # on the interior alone, none at a singular M


@pytest.mark.parametrize("delta", [0.7, 0.0])
def test_a_likelihood_passes_as_a_problem(delta):
    assert failing(Likelihood(covariance(), delta)) == []


def test_a_gradient_that_fails_at_singular_matrices_only_is_no_fault():
    """At M of low rank rounding decides whether Cholesky's method and an inverse fail; NaN everywhere is a fault."""
    C = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.3
    assert failing(TermSum([LinearTerm(C), CholeskyLogDet(4)])) == []
    broken = CholeskyLogDet(4)
    broken.inverse = lambda M: np.full_like(M, np.nan)
    assert "problem.step_by_images" in failing(TermSum([LinearTerm(C), broken]))


@pytest.mark.parametrize("kind", [WrongGradient, WrongHessian, WrongFormula, WrongLine, WrongPlane])
def test_a_wrong_barrier_is_rejected(kind):
    assert kind.rejected_by in failing(kind())


@pytest.mark.parametrize("C", [covariance(), sp.csr_array(covariance())], ids=["dense", "sparse"])
def test_a_builder_of_a_matrix_problem_is_told_from_one_of_samples(C):
    spec = ProblemSpec("likelihood", Likelihood, "log det", "", (), partial(Likelihood, covariance(), 0.7))
    manager = SimpleNamespace(problems=(), specs=lambda kind: (spec,) if kind == "problem" else (), plugin_of=repr)
    _, builder = (target.obj for target in targets("likelihood", manager))
    assert builder.samples is None
    assert failing(builder) == []
    assert Builder(Likelihood, (C, 0.7)).samples is None
    assert Builder(Likelihood, (C[:4], 0.7)).samples == 0  # not square
    assert Builder(Likelihood, (C + sp.coo_array(([1.0], ([0], [1])), (5, 5)), 0.7)).samples == 0  # not symmetric
