"""Linear algebra on large arrays: operators, extreme eigenvalues, polynomials, tolerances.

Arrays with n or m rows are used only by ``@``, elementwise arithmetic, sums and the functions of this
package. Arrays of other libraries are therefore supported here and nowhere else.
"""

from psdopt.linalg.arc import arc_of_inner, arc_polynomial, first_minimizer
from psdopt.linalg.arrays import (
    Array,
    as_dense,
    incidence,
    inner,
    is_finite,
    norm,
    pair_dots,
    row_dots,
    sparse_product,
    with_data,
)
from psdopt.linalg.complex_arrays import complex_array, kronecker_product
from psdopt.linalg.definite import solver_of
from psdopt.linalg.extreme import ExtremePair
from psdopt.linalg.leading import top_eigenpairs
from psdopt.linalg.least import BACKENDS, least_eigenpairs
from psdopt.linalg.low_pass import low_pass
from psdopt.linalg.operators import LinearMap, block_operator, symmetric_map
from psdopt.linalg.polynomials import minimize_smooth
from psdopt.linalg.row_blocks import RowBlocks, linear_map, watching
from psdopt.linalg.row_sources import DaskRows, RowSource, row_source
from psdopt.linalg.row_views import Standardized, Transformed, WithConstant, WithoutRows, mean_and_scale, transformed
from psdopt.linalg.subset import principal_axes
from psdopt.linalg.tolerances import EPS, rounding

__all__ = [
    "BACKENDS",
    "EPS",
    "Array",
    "DaskRows",
    "ExtremePair",
    "LinearMap",
    "RowBlocks",
    "RowSource",
    "Standardized",
    "Transformed",
    "WithConstant",
    "WithoutRows",
    "arc_of_inner",
    "arc_polynomial",
    "as_dense",
    "block_operator",
    "complex_array",
    "first_minimizer",
    "incidence",
    "inner",
    "is_finite",
    "kronecker_product",
    "least_eigenpairs",
    "linear_map",
    "low_pass",
    "mean_and_scale",
    "minimize_smooth",
    "norm",
    "pair_dots",
    "principal_axes",
    "rounding",
    "row_dots",
    "row_source",
    "solver_of",
    "sparse_product",
    "symmetric_map",
    "top_eigenpairs",
    "transformed",
    "watching",
    "with_data",
]
