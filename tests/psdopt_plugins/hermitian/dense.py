"""Pauli matrices and random states, dense and complex, for comparisons."""

from functools import reduce
from itertools import product

import numpy as np

ONE = {
    "I": np.eye(2),
    "X": np.array([[0, 1], [1, 0]]),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]),
}


def pauli(string):
    return reduce(np.kron, [ONE[letter] for letter in string])


def all_strings(q, letters="IXYZ"):
    return ["".join(each) for each in product(letters, repeat=q)]


def random_state(rng, n, r):
    """Z (n, r) with tr Z Z* = 1."""
    Z = rng.standard_normal((n, r)) + 1j * rng.standard_normal((n, r))
    return Z / np.linalg.norm(Z)
