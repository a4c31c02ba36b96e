"""Shipped methods, one algorithm per file."""

from psdopt.method import Method
from psdopt.methods.closed_form import ClosedForm
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.methods.lbfgs import LBFGS

__all__ = ["LBFGS", "ClosedForm", "ConjugateGradient", "shipped_methods"]


def shipped_methods() -> list[Method]:
    """One instance of every shipped method, with its defaults."""
    return [ClosedForm(), ConjugateGradient(), LBFGS()]
