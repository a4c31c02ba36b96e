"""psdopt: optimisation over positive semidefinite matrices, min F(M), M ⪰ 0.

A free composition Problem × Geometry × Method, with certificates of global optimality.
"""

from psdopt.capability import Ability, Verdict
from psdopt.certificate import Certificate, certify
from psdopt.compatibility import compatible
from psdopt.errors import PsdoptError
from psdopt.geometries import FixedTrace, FlatQuotient, Polar, PositiveDefinite, PSDCone, Spectraplex
from psdopt.geometry import Atom, Defect, Geometry
from psdopt.matrix import LowRankPSD
from psdopt.method import Method, Outcome, State
from psdopt.methods import (
    ADMM,
    BILGO,
    LBFGS,
    BlockConjugateGradient,
    ClosedForm,
    ColumnGeneration,
    ConjugateGradient,
    FrankWolfe,
    LagrangeNewton,
    OnlineRiemannianGradient,
    ProjectedGradient,
    RiemannianGradient,
    TrustRegions,
)
from psdopt.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.problems import AutogradProblem, EntryFit, MarginProblem, QuadraticSDP, TermSum
from psdopt.result import History, Result, Status
from psdopt.roles import Duality, Preconditioner, Starts
from psdopt.run import Snapshot
from psdopt.smoothing import solve_smoothed
from psdopt.solve import solve
from psdopt.splitting import BiconvexSplit
from psdopt.version import __version__

__all__ = [
    "ADMM",
    "BILGO",
    "LBFGS",
    "Ability",
    "Atom",
    "AutogradProblem",
    "BiconvexSplit",
    "BlockConjugateGradient",
    "Certificate",
    "ClosedForm",
    "ColumnGeneration",
    "ConjugateGradient",
    "Defect",
    "Duality",
    "EntryFit",
    "Evaluation",
    "FixedTrace",
    "FlatQuotient",
    "FrankWolfe",
    "Geometry",
    "History",
    "LagrangeNewton",
    "LineModel",
    "LowRankPSD",
    "MarginProblem",
    "Method",
    "OnlineRiemannianGradient",
    "Outcome",
    "PSDCone",
    "PlaneModel",
    "Polar",
    "PositiveDefinite",
    "Preconditioner",
    "Problem",
    "ProjectedGradient",
    "PsdoptError",
    "QuadraticSDP",
    "Result",
    "RiemannianGradient",
    "Snapshot",
    "Spectraplex",
    "Starts",
    "State",
    "Status",
    "TermSum",
    "TrustRegions",
    "Verdict",
    "__version__",
    "certify",
    "compatible",
    "solve",
    "solve_smoothed",
]
