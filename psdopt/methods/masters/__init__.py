"""Restricted master problems of column generation: the margin problem on the span of a few columns."""

from psdopt.methods.masters.base import Answer
from psdopt.methods.masters.block import BlockMaster
from psdopt.methods.masters.lp import LPMaster

__all__ = ["Answer", "BlockMaster", "LPMaster"]
