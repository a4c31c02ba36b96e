"""Problems from one function of M, or of its factor, by automatic differentiation."""

from psdopt.problems.functions.problem import FunctionProblem

__all__ = ["FunctionProblem"]
