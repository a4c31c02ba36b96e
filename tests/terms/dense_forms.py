"""Forms beside the dense matrices that they stand for."""

N, M = 6, 9
