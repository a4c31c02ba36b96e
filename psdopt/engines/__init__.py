"""Engines keep the parts of a sum: in this process, on a Dask cluster, on Ray. psdopt never starts a cluster."""

from psdopt.engines.base import Engine, Here
from psdopt.engines.dask import OnDask
from psdopt.engines.ray import OnRay

__all__ = ["Engine", "Here", "OnDask", "OnRay"]
