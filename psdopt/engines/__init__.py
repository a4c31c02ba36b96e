"""Where the parts of a sum live: in this process, on a Dask cluster, on Ray. An engine is handed in, never started."""

from psdopt.engines.base import Engine, Here
from psdopt.engines.dask import OnDask
from psdopt.engines.ray import OnRay

__all__ = ["Engine", "Here", "OnDask", "OnRay"]
