"""psdopt: optimisation over positive semidefinite matrices, min F(M), M ⪰ 0.

A free composition Problem × Geometry × Method, with certificates of global optimality.
"""

import sys

import psdopt.plugins  # noqa: F401 (it tells compatible() what is installed)
from psdopt import constraints, geometries, methods
from psdopt.certificates.certificate import Certificate, ConstraintRecord
from psdopt.certificates.certify import certify
from psdopt.certificates.scales import stationarity_scale
from psdopt.constraints import Constrained, Constraint, read_sdpa
from psdopt.contracts.abilities import Ability, Requires, Verdict
from psdopt.contracts.curvature import Curvature
from psdopt.contracts.curve import FactorCurve, Mixture
from psdopt.contracts.geometry import Atom, Defect, Geometry
from psdopt.contracts.images import Images
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.method import Method, Outcome, Residual, State, ensure_finite, factor_residual
from psdopt.contracts.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.contracts.roles import Duality, Preconditioner, Starts
from psdopt.contracts.splitting import BiconvexSplit
from psdopt.data.streams import ArrayStream, Batch, BatchStream, IteratorStream
from psdopt.deprecated import FORMER_METHODS, FormerModules, former_names
from psdopt.errors import PsdoptError
from psdopt.geometries import *  # noqa: F403
from psdopt.margins import MarginProblem
from psdopt.methods import *  # noqa: F403
from psdopt.methods.online_gradient import Pace
from psdopt.methods.searches.preconditioning import gram_scaled
from psdopt.plugins.elsewhere import Elsewhere
from psdopt.problems import (
    AutogradProblem,
    EntryFit,
    FunctionProblem,
    MomentPreconditioner,
    QuadraticSDP,
    TermEvaluation,
    TermSum,
)
from psdopt.problems.streamed import OffersStream, Streamed
from psdopt.running.compatibility import compatible
from psdopt.running.derivatives import Adjoint
from psdopt.running.escape import widened
from psdopt.running.result import History, Result, Status
from psdopt.running.run import Snapshot
from psdopt.running.smoothing import solve_smoothed
from psdopt.running.solve import solve
from psdopt.running.starts import starting_point
from psdopt.running.stopping import (
    MaxIterations,
    MaxTime,
    ProvenGap,
    SmallDecrease,
    SmallStationarity,
    Stopping,
    ValueBelow,
)
from psdopt.version import __version__

sys.meta_path += [FormerModules(), Elsewhere()]
__getattr__ = former_names(__name__, FORMER_METHODS)

__all__ = [
    "Ability",
    "Adjoint",
    "ArrayStream",
    "Atom",
    "AutogradProblem",
    "Batch",
    "BatchStream",
    "BiconvexSplit",
    "Certificate",
    "Constrained",
    "Constraint",
    "ConstraintRecord",
    "Curvature",
    "Defect",
    "Duality",
    "EntryFit",
    "Evaluation",
    "FactorCurve",
    "FunctionProblem",
    "Geometry",
    "History",
    "Images",
    "IteratorStream",
    "LineModel",
    "LowRankPSD",
    "MarginProblem",
    "MaxIterations",
    "MaxTime",
    "Method",
    "Mixture",
    "MomentPreconditioner",
    "OffersStream",
    "Outcome",
    "Pace",
    "PlaneModel",
    "Preconditioner",
    "Problem",
    "ProvenGap",
    "PsdoptError",
    "QuadraticSDP",
    "Requires",
    "Residual",
    "Result",
    "SmallDecrease",
    "SmallStationarity",
    "Snapshot",
    "Starts",
    "State",
    "Status",
    "Stopping",
    "Streamed",
    "TermEvaluation",
    "TermSum",
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
__all__ += geometries.__all__
__all__ += methods.__all__
