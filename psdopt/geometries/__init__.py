"""Shipped geometries, one per file."""

from psdopt.geometries.flat_quotient import FlatQuotient
from psdopt.geometries.psd_cone import PSDCone

__all__ = ["FlatQuotient", "PSDCone"]
