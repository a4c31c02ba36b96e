"""Leading eigenvectors of −S for linear minimisation oracles: backends behind one function."""

from psdopt.oracles.least import BACKENDS, least_eigenpairs

__all__ = ["BACKENDS", "least_eigenpairs"]
