"""Restricted master problems of column generation: the margin problem on the span of a few columns."""

from psdopt.methods.masters.base import Answer
from psdopt.methods.masters.block import BlockMaster
from psdopt.methods.masters.bundle import Bundle
from psdopt.methods.masters.conic import ConicMaster
from psdopt.methods.masters.lp import LPMaster
from psdopt.methods.masters.quadratic import QuadraticMaster
from psdopt.methods.masters.stabilizer import Stabilizer

__all__ = ["Answer", "BlockMaster", "Bundle", "ConicMaster", "LPMaster", "QuadraticMaster", "Stabilizer"]
