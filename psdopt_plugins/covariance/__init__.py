"""Covariances with a sparse inverse."""

from psdopt_plugins.covariance.orthant_newton import SparseInverse, sparse_inverse
from psdopt_plugins.covariance.precision import SparsePrecision

__all__ = ["SparseInverse", "SparsePrecision", "sparse_inverse"]
