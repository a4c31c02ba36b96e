"""Shipped geometries, one per file."""

from psdopt.geometries.fixed_trace import FixedTrace
from psdopt.geometries.flat_quotient import FlatQuotient
from psdopt.geometries.polar import Polar
from psdopt.geometries.positive_definite import PositiveDefinite
from psdopt.geometries.psd_cone import PSDCone
from psdopt.geometries.spectraplex import Spectraplex

__all__ = ["FixedTrace", "FlatQuotient", "PSDCone", "Polar", "PositiveDefinite", "Spectraplex"]
