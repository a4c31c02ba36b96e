"""Problems: sums of terms, quadratic SDPs, and functions with automatic differentiation."""

from psdopt.deprecated import former_names
from psdopt.problems.autograd_problem import AutogradProblem
from psdopt.problems.entry_fit import EntryFit
from psdopt.problems.functions import FunctionProblem
from psdopt.problems.moment_preconditioner import MomentPreconditioner
from psdopt.problems.quadratic_sdp import QuadraticSDP
from psdopt.problems.term_models import TermEvaluation
from psdopt.problems.term_sum import TermSum

__all__ = [
    "AutogradProblem",
    "EntryFit",
    "FunctionProblem",
    "MomentPreconditioner",
    "QuadraticSDP",
    "TermEvaluation",
    "TermSum",
]

__getattr__ = former_names(__name__, {"MarginProblem": "psdopt:MarginProblem"})
