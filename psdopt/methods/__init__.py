"""Shipped methods, one algorithm per file."""

from psdopt.method import Method
from psdopt.methods.closed_form import ClosedForm
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.methods.lbfgs import LBFGS
from psdopt.methods.trust_regions import TrustRegions

__all__ = ["LBFGS", "ClosedForm", "ConjugateGradient", "TrustRegions", "shipped_methods"]


def shipped_methods() -> list[Method]:
    """One instance of every shipped method, with its defaults."""
    return [ClosedForm(), ConjugateGradient(), LBFGS(), TrustRegions()]
