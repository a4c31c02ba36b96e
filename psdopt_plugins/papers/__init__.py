"""The experiments of the papers that psdopt implements: ``psdopt reproduce`` measures them again."""

from __future__ import annotations

from collections.abc import Iterable

from psdopt.plugins import Spec, hookimpl
from psdopt_plugins.papers.catalogue_kl_admm import KL_ADMM
from psdopt_plugins.papers.catalogue_lro import LRO

__all__ = ["psdopt_components"]


@hookimpl
def psdopt_components() -> Iterable[Spec]:
    """Tables and figures, paper by paper; what measures them is imported when it is asked for."""
    yield from (*KL_ADMM, *LRO)
