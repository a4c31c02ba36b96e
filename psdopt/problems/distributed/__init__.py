"""F = Σ_k F_k, with each F_k kept where its data are: in this process, on a Dask cluster, or on Ray.

from psdopt.problems.distributed import OnDask, Summed

problem = Summed([(make_part, rows) for rows in pieces], OnDask(client))
solve(problem, FlatQuotient(problem.n, 10))

Engines keep the parts. psdopt never starts a cluster.
"""

from psdopt.problems.distributed.dask import OnDask
from psdopt.problems.distributed.engine import Engine, Here
from psdopt.problems.distributed.ray import OnRay
from psdopt.problems.distributed.split import Touched, even_slices, touched
from psdopt.problems.distributed.summed import Summed

__all__ = ["Engine", "Here", "OnDask", "OnRay", "Summed", "Touched", "even_slices", "touched"]
