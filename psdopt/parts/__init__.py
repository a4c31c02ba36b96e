"""F = Σ_k F_k with every F_k where its data are: in this process, on a Dask cluster, on Ray.

from psdopt.parts import Summed
from psdopt.engines import OnDask

problem = Summed([(make_part, rows) for rows in pieces], OnDask(client))
solve(problem, FlatQuotient(problem.n, 10))
"""

from psdopt.parts.split import Touched, even_slices, touched
from psdopt.parts.summed import Summed

__all__ = ["Summed", "Touched", "even_slices", "touched"]
