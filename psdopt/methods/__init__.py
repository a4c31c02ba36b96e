"""Shipped methods: one algorithm a file, or a folder where it needs more."""

from psdopt.contracts.method import Method
from psdopt.deprecated import FORMER_METHODS, former_names
from psdopt.margins.column_generation import ColumnGeneration
from psdopt.methods.admm import ADMM
from psdopt.methods.alternating import Alternating
from psdopt.methods.augmented_lagrangian.method import AugmentedLagrangian
from psdopt.methods.bilgo.method import BILGO
from psdopt.methods.block_conjugate_gradient import BlockConjugateGradient
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.methods.dual_newton import DualNewton
from psdopt.methods.frank_wolfe import FrankWolfe
from psdopt.methods.growing_samples import GrowingSamples
from psdopt.methods.lagrange_newton.method import LagrangeNewton
from psdopt.methods.lbfgs import LBFGS
from psdopt.methods.online_gradient import OnlineRiemannianGradient
from psdopt.methods.primal_dual.boundary_point import BoundaryPoint
from psdopt.methods.primal_dual.interior_point import InteriorPoint
from psdopt.methods.projected_gradient import ProjectedGradient
from psdopt.methods.sphere_gradient import SphereGradient
from psdopt.methods.splitting import EigenSplitting
from psdopt.methods.truncated_newton import TruncatedNewton
from psdopt.methods.trust_regions import TrustRegions

__all__ = [
    "ADMM",
    "BILGO",
    "LBFGS",
    "Alternating",
    "AugmentedLagrangian",
    "BlockConjugateGradient",
    "BoundaryPoint",
    "ColumnGeneration",
    "ConjugateGradient",
    "DualNewton",
    "EigenSplitting",
    "FrankWolfe",
    "GrowingSamples",
    "InteriorPoint",
    "LagrangeNewton",
    "OnlineRiemannianGradient",
    "ProjectedGradient",
    "SphereGradient",
    "TruncatedNewton",
    "TrustRegions",
]

__getattr__ = former_names(__name__, FORMER_METHODS)


def shipped_methods() -> list[Method]:
    """One instance of every shipped method, with its defaults."""
    return [globals()[name]() for name in __all__ if name != "Alternating"]
