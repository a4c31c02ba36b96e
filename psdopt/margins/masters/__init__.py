"""Restricted master problems of column generation: the margin problem on the span of a few columns."""

from psdopt.margins.masters.base import Master, MasterSolution, Unsolved
from psdopt.margins.masters.block import BlockMaster
from psdopt.margins.masters.bundle import Bundle

__all__ = ["BlockMaster", "Bundle", "Master", "MasterSolution", "Unsolved"]
