"""psdopt: optimisation over positive semidefinite matrices, min F(M), M ⪰ 0.

A free composition Problem × Geometry × Method, with certificates of global optimality.
"""

from psdopt import constraints
from psdopt.capability import Ability, Requires, Verdict
from psdopt.certificate import Certificate, certify
from psdopt.choose import starting_point
from psdopt.compatibility import compatible
from psdopt.constraints import Constrained, Constraint, read_sdpa
from psdopt.errors import PsdoptError
from psdopt.escape import widened
from psdopt.geometries import FixedTrace, FlatQuotient, Polar, PositiveDefinite, PSDCone, Spectraplex
from psdopt.geometry import Atom, Defect, Geometry
from psdopt.images import Images
from psdopt.margins import MarginProblem
from psdopt.margins.smoothing import solve_smoothed
from psdopt.matrix import LowRankPSD
from psdopt.method import Method, Outcome, Residual, State, ensure_finite, factor_residual
from psdopt.methods import (
    ADMM,
    BILGO,
    LBFGS,
    AugmentedLagrangian,
    BlockConjugateGradient,
    BoundaryPoint,
    ClosedForm,
    ColumnGeneration,
    ConjugateGradient,
    DualNewton,
    FrankWolfe,
    InteriorPoint,
    LagrangeNewton,
    OnlineRiemannianGradient,
    ProjectedGradient,
    RiemannianGradient,
    Then,
    TruncatedNewton,
    TrustRegions,
)
from psdopt.methods.online_gradient import Pace
from psdopt.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.problems import AutogradProblem, EntryFit, QuadraticSDP, TermEvaluation, TermSum
from psdopt.problems.streamed import Streamed
from psdopt.result import History, Result, Status
from psdopt.roles import Duality, Preconditioner, Starts
from psdopt.run import Snapshot
from psdopt.searches.preconditioning import gram_scaled
from psdopt.solve import solve
from psdopt.splitting import BiconvexSplit
from psdopt.stopping import MaxIterations, MaxTime, SmallDecrease, SmallStationarity, Stopping, ValueBelow
from psdopt.streams import ArrayStream, Batch, BatchStream, IteratorStream
from psdopt.units import stationarity_scale
from psdopt.version import __version__

__all__ = [
    "ADMM",
    "BILGO",
    "LBFGS",
    "Ability",
    "ArrayStream",
    "Atom",
    "AugmentedLagrangian",
    "AutogradProblem",
    "Batch",
    "BatchStream",
    "BiconvexSplit",
    "BlockConjugateGradient",
    "BoundaryPoint",
    "Certificate",
    "ClosedForm",
    "ColumnGeneration",
    "ConjugateGradient",
    "Constrained",
    "Constraint",
    "Defect",
    "DualNewton",
    "Duality",
    "EntryFit",
    "Evaluation",
    "FixedTrace",
    "FlatQuotient",
    "FrankWolfe",
    "Geometry",
    "History",
    "Images",
    "InteriorPoint",
    "IteratorStream",
    "LagrangeNewton",
    "LineModel",
    "LowRankPSD",
    "MarginProblem",
    "MaxIterations",
    "MaxTime",
    "Method",
    "OnlineRiemannianGradient",
    "Outcome",
    "PSDCone",
    "Pace",
    "PlaneModel",
    "Polar",
    "PositiveDefinite",
    "Preconditioner",
    "Problem",
    "ProjectedGradient",
    "PsdoptError",
    "QuadraticSDP",
    "Requires",
    "Residual",
    "Result",
    "RiemannianGradient",
    "SmallDecrease",
    "SmallStationarity",
    "Snapshot",
    "Spectraplex",
    "Starts",
    "State",
    "Status",
    "Stopping",
    "Streamed",
    "TermEvaluation",
    "TermSum",
    "Then",
    "TruncatedNewton",
    "TrustRegions",
    "ValueBelow",
    "Verdict",
    "__version__",
    "certify",
    "compatible",
    "constraints",
    "ensure_finite",
    "factor_residual",
    "gram_scaled",
    "read_sdpa",
    "solve",
    "solve_smoothed",
    "starting_point",
    "stationarity_scale",
    "widened",
]
