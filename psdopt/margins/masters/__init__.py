"""Restricted master problems of column generation: the margin problem on the span of a few columns."""

from psdopt.margins.masters.base import Answer, Master, Unsolved
from psdopt.margins.masters.block import BlockMaster
from psdopt.margins.masters.bundle import Bundle

__all__ = ["Answer", "BlockMaster", "Bundle", "Master", "Unsolved"]
