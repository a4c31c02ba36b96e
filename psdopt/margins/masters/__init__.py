"""Restricted master problems of column generation: the margin problem on the span of a few columns."""

from psdopt.margins.masters.base import Answer
from psdopt.margins.masters.block import BlockMaster
from psdopt.margins.masters.bundle import Bundle
from psdopt.margins.masters.conic import ConicMaster
from psdopt.margins.masters.lp import LPMaster
from psdopt.margins.masters.quadratic import QuadraticMaster
from psdopt.margins.masters.stabilizer import Stabilizer

__all__ = ["Answer", "BlockMaster", "Bundle", "ConicMaster", "LPMaster", "QuadraticMaster", "Stabilizer"]
