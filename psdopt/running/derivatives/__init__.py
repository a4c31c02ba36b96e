"""Derivatives of minimisers by the data of their problem, by one linear system on the factor."""

from psdopt.running.derivatives.adjoint import Adjoint

__all__ = ["Adjoint"]
