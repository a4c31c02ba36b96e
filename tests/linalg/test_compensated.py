"""Sums of products that cancel, against exact fractions."""

from fractions import Fraction

import numpy as np

from psdopt.linalg.compensated import grouped_products, two_products
from psdopt.linalg.tolerances import EPS


def test_a_product_and_its_error_are_exact() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 200)) * 10.0 ** rng.integers(-30, 30, (2, 200))
    for x, y, product, error in zip(a, b, *two_products(a, b), strict=True):
        assert Fraction(product) + Fraction(error) == Fraction(x) * Fraction(y)


def test_sums_that_cancel_to_sixteen_digits_keep_sixteen_digits() -> None:
    rng = np.random.default_rng(1)
    group, size = rng.integers(0, 7, 300), 9
    a, b = rng.standard_normal((2, 300)) * 10.0 ** rng.integers(-4, 5, (2, 300))
    rounded = np.bincount(group, a * b, size)
    # the last of each group cancels the others but for their rounding
    a, b, group = np.append(a, rounded), np.append(b, -np.ones(size)), np.append(group, np.arange(size))
    found = grouped_products(a, b, group, size)
    for k in range(size):
        exact = sum((Fraction(x) * Fraction(y) for x, y in zip(a[group == k], b[group == k], strict=True)), Fraction(0))
        terms = float(np.abs(a[group == k] * b[group == k]).sum())
        assert abs(float(Fraction(found[k]) - exact)) <= EPS * abs(float(exact)) + 300**2 * EPS**2 * terms
    assert np.array_equal(found[7:], [0.0, 0.0])


def test_what_overflows_is_infinite_as_in_a_plain_sum() -> None:
    found = grouped_products(np.array([1e308, 1.0]), np.array([10.0, 2.0]), np.array([0, 1]), 2)
    assert np.array_equal(found, [np.inf, 2.0])
