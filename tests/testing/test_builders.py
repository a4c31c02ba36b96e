"""The builders that are shipped, called on the same data stored in other ways, and with one sample moved."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from psdopt.plugins import ProblemSpec
from psdopt.problems import QuadraticSDP
from psdopt.testing import Builder, parametrize_with_checks, run_checks
from psdopt.testing.cli import targets
from psdopt_plugins.metric_learning import (
    kta_problem,
    lmnn_problem,
    nca_problem,
    pair_distance_problem,
    triplet_margin_problem,
)
from psdopt_plugins.regression import psd_regression_problem
from tests.testing.zoo.builders import X as ROWS

RNG = np.random.default_rng(0)
X, LABELS = RNG.standard_normal((9, 5)), np.array([0, 1, 2] * 3)
TRIPLETS = np.array([(0, 3, 1), (1, 4, 2), (2, 5, 0), (6, 3, 7), (7, 1, 8), (8, 5, 4)])
FORM = X.T @ X
BUILDERS = [
    Builder(psd_regression_problem, (X, RNG.uniform(0.0, 5.0, 9))),
    Builder(kta_problem, (X, LABELS), {"lam": 0.01}),
    Builder(lmnn_problem, (X, TRIPLETS[:, :2], TRIPLETS, 2.0), indices=(1, 2)),
    Builder(nca_problem, (X, LABELS, (np.arange(9)[:, None] + np.array([0, 1, 3, 5])) % 9, 0.1), indices=(2,)),
    Builder(triplet_margin_problem, (X, TRIPLETS), {"C": 0.4}, indices=(1,)),
    Builder(QuadraticSDP, (FORM, 0.5, np.diag([1.0, -1.0, 2.0, 0.5, -2.0])), samples=None),
]


@parametrize_with_checks(BUILDERS)
def test_builders(check):
    check()


def test_pairs_and_labels_follow_their_samples():
    builder = Builder(lambda X, pairs: pair_distance_problem(X, pairs, upper=1.0, lower=3.0),
                      (X, (TRIPLETS[:, :2], TRIPLETS[:, ::2])), indices=())  # fmt: skip
    records = {record.name: record for record in run_checks(builder)}
    assert records["builder.samples_count"].ok
    assert not records["builder.samples_in_any_order"].ok  # the pairs were not said to be indices, and stay behind


def test_what_is_no_problem_is_said():
    (record,) = run_checks(Builder(lambda rows: rows, (ROWS,)), only=["builder.samples_count"])
    assert "is no Problem" in record.diagnosis


@pytest.mark.parametrize("whole", [True, False])
def test_an_example_that_calls_the_factory_gives_a_builder_to_check(whole):
    y = np.linspace(0.0, 1.0, 9)
    example = partial(psd_regression_problem, X, y) if whole else lambda: psd_regression_problem(X, y)
    spec = ProblemSpec("fit", psd_regression_problem, "a fit", example=example)
    manager = SimpleNamespace(
        problems=(), specs=lambda kind: [spec] if kind == "problem" else [], plugin_of=lambda spec: "mine"
    )
    names = [target.name for target in targets("mine", manager)]
    assert names == (["problem:fit", "builder of problem:fit"] if whole else ["problem:fit"])
