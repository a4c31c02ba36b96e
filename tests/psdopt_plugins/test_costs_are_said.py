"""Each estimator's docstring says what a fit costs: time and memory by size, and a time that was measured."""

import importlib
import inspect
import re

import pytest
from sklearn.base import BaseEstimator

from psdopt_plugins.metric_learning import KTA

PACKAGES = (
    "covariance",
    "hermitian",
    "kernel_learning",
    "manifold_learning",
    "metric_learning",
    "regression",
    "relaxations",
    "spectral",
)


def shipped():
    for package in PACKAGES:
        module = importlib.import_module(f"psdopt_plugins.{package}")
        for name in dir(module):
            found = getattr(module, name)
            if inspect.isclass(found) and issubclass(found, BaseEstimator):
                yield found


def missing(docstring):
    """What the paragraph on costs of a class's `docstring` does not say."""
    paragraph = next((text for text in inspect.cleandoc(docstring).split("\n\n") if text.startswith("Cost")), "")
    said = {
        "a growth with size": r"O\(|n³|[Tt]h(at|ose) of the learner",
        "memory": r"[Mm]emory",
        "a measured time": r"took .*\d s\b",
    }
    paragraph = re.sub(r"\s+", " ", paragraph)
    return [what for what, pattern in said.items() if not re.search(pattern, paragraph)]


@pytest.mark.parametrize("estimator", list(shipped()), ids=lambda estimator: estimator.__name__)
def test_the_docstring_says_what_a_fit_costs(estimator):
    assert missing(estimator.__doc__) == []


def test_estimators_are_found_and_a_docstring_without_figure_or_paragraph_is_not_enough():
    assert len(list(shipped())) >= 23
    assert missing(re.sub(r"took less", "needs less", re.sub(r"500 × 1,500.*", "", KTA.__doc__))) == ["a measured time"]
    assert len(missing("Learn.\n\n    Parameters\n    ----------\n    rank : took 3 s, O(n), memory.")) == 3
