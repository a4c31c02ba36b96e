"""psdopt: optimisation over positive semidefinite matrices, min F(M), M ⪰ 0.

A free composition Problem × Geometry × Method, with certificates of global optimality.
"""

from psdopt.capability import Ability, Verdict, compatible
from psdopt.certificate import Certificate, certify
from psdopt.driver import Snapshot
from psdopt.errors import PsdoptError
from psdopt.geometries import FlatQuotient, PSDCone
from psdopt.geometry import Atom, Defect, Geometry
from psdopt.matrix import LowRankPSD
from psdopt.method import Method, Outcome, State
from psdopt.methods import LBFGS, ClosedForm, ConjugateGradient, TrustRegions
from psdopt.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.problems import AutogradProblem, QuadraticSDP, TermSum
from psdopt.result import History, Result, Status
from psdopt.solve import solve
from psdopt.version import __version__

__all__ = [
    "LBFGS",
    "Ability",
    "Atom",
    "AutogradProblem",
    "Certificate",
    "ClosedForm",
    "ConjugateGradient",
    "Defect",
    "Evaluation",
    "FlatQuotient",
    "Geometry",
    "History",
    "LineModel",
    "LowRankPSD",
    "Method",
    "Outcome",
    "PSDCone",
    "PlaneModel",
    "Problem",
    "PsdoptError",
    "QuadraticSDP",
    "Result",
    "Snapshot",
    "State",
    "Status",
    "TermSum",
    "TrustRegions",
    "Verdict",
    "__version__",
    "certify",
    "compatible",
    "solve",
]
