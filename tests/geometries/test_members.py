"""Members of the sets: what any factor becomes, what is refused and with which size, bad arguments."""

import math

import numpy as np
import pytest

from psdopt import FixedTrace, FlatQuotient, Polar, PositiveDefinite, PSDCone, Spectraplex
from psdopt.errors import InvalidInputError
from psdopt.geometries.polar import PolarPoint
from psdopt.geometries.positive_definite import METRICS, Root
from psdopt.linalg.tolerances import EPS

POLAR, DEFINITE, U, R = Polar(4, 2), PositiveDefinite(3), np.eye(4)[:, :2], np.diag([2.0, 0.5])
AT, D, K = PolarPoint(U, R), np.eye(4)[:, 2:], np.eye(2)
Y, G = np.full((4, 2), 0.5), np.diag([2.0, 1.0, 1e-3])


def holed(array, count, hole=np.nan):
    """The array with that many entries replaced."""
    found = np.array(array)
    found.flat[np.arange(count) * 4 % found.size] = hole
    return found


#: A set, its point where a vector is given, what is given, what is said of it, and its size.
NONE = [
    (POLAR, 3.0, "a pair", 1.0), (POLAR, (U[:3], R), "shapes", 6.0), (POLAR, (U, R[:1]), "shapes", 8.0),
    (POLAR, (U, holed(R, 4)), "non-finite", 1.0), (POLAR, (holed(U, 2), holed(R, 1)), "non-finite", 3.0),
    (POLAR, (U, np.diag([1.0, 0.0])), "invertible", 0.0), (POLAR, AT, (D[:3], K), "shaped like", 6.0),
    (POLAR, AT, (D, K[:1]), "shaped like", 8.0), (POLAR, AT, (holed(D, 2), holed(K, 1)), "non-finite", 3.0),
    (DEFINITE, G[:2], "shape", 6.0), (DEFINITE, holed(G, 2, np.inf), "non-finite", 2.0),
    (DEFINITE, np.diag([1.0, 1.0, 0.0]), "definite", 0.0), (DEFINITE, Root(G), G[:2], "shape", 6.0),
    (DEFINITE, Root(G), holed(G, 2, np.inf), "non-finite", 2.0), (Spectraplex(4, 2.0), Y[:3], "shape", 6.0),
    (Spectraplex(4, 2.0), Y[:, 0], "shape", 4.0), (Spectraplex(4, 2.0), Y[:, :0], "shape", 0.0),
    (Spectraplex(4, 2.0), holed(Y, 1), "non-finite", 1.0),
    *((FlatQuotient(4, 2), *at, Y[:3], "shape", 6.0) for at in ((), (Y,))),
    *((FlatQuotient(4, 2), *at, holed(Y, 2), "non-finite", 2.0) for at in ((), (Y,))),
    *((FixedTrace(4, 2, 2.0), *at, Y[:3], "shape", 6.0) for at in ((), (Y,))),
    *((FixedTrace(4, 2, 2.0), *at, holed(Y, 2), "non-finite", 2.0) for at in ((), (Y,))),
]  # fmt: skip


@pytest.mark.parametrize("case", NONE)
def test_what_is_no_point_or_vector_is_told_with_its_size(case):
    geometry, *given, text, size = case
    defect = geometry.check_point(*given) if len(given) == 1 else geometry.check_vector(*given)
    assert text in defect.reason
    assert (defect.magnitude, defect.allowed) == (size, 0.0)


@pytest.mark.parametrize(
    ("geometry", "given"),
    [
        (POLAR, [(U, R)]), (POLAR, [(U, 1e-3 * R)]), (POLAR, [AT, (D, K)]), (DEFINITE, [G]),
        (DEFINITE, [Root(1e-8 * G)]), (Polar(400, 1), [(np.full((400, 1), 0.05 * (1.0 + 100 * EPS)), np.eye(1))]),
        (FixedTrace(5, 2), [FixedTrace(5, 2).from_factor(np.ones((5, 1)))]),
    ],
)  # fmt: skip
def test_what_is_a_point_or_vector_is_accepted(geometry, given):
    assert (geometry.check_point(*given) if len(given) == 1 else geometry.check_vector(*given)) is None


@pytest.mark.parametrize("n", [4, 400])
@pytest.mark.parametrize("size", [1e-5, 1.0, 1e5])
def test_what_may_be_off_grows_with_the_order_and_the_sizes_of_both(n, size):
    """Along the fibre, |YᵀD − DᵀY| or |UᵀU̇|; along Y itself where the trace is fixed, |⟨Y, D⟩|; skew parts of roots."""
    Y = np.eye(n)[:, :2] * [2.0, 1.0]
    Y /= np.linalg.norm(Y)
    along = size * Y @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    for geometry in (FlatQuotient(n, 2), FixedTrace(n, 2)):
        defect = geometry.check_vector(Y, along)
        assert "horizontal" in defect.reason
        np.testing.assert_allclose(defect.magnitude, np.linalg.norm(Y.T @ along - along.T @ Y))
        np.testing.assert_allclose(defect.allowed, 64 * EPS * math.sqrt(n) * np.linalg.norm(along))
    radial = FixedTrace(n, 2).check_vector(Y, size * Y)
    assert "sphere" in radial.reason
    np.testing.assert_allclose((radial.magnitude, radial.allowed), (size, 64 * EPS * math.sqrt(2 * n) * size))
    assert FlatQuotient(n, 2).check_vector(Y, size * Y) is None
    u = np.full((n, 1), n**-0.5)
    np.testing.assert_allclose(Polar(n, 1).check_point((2.0 * u, np.eye(1))).allowed, 1024 * EPS * math.sqrt(n))
    across = Polar(n, 1).check_vector(PolarPoint(u, np.eye(1)), (size * u, np.zeros((1, 1))))
    assert "horizontal" in across.reason
    np.testing.assert_allclose((across.magnitude, across.allowed), (size, 1024 * EPS * math.sqrt(n) * size))
    K = size * np.eye(n)[:, :1] @ np.eye(n)[1:2]
    skew = PositiveDefinite(n).check_vector(Root(np.eye(n)), K)
    np.testing.assert_allclose((skew.magnitude, skew.allowed), (math.sqrt(2.0) * size, 64 * EPS * n * size))
    assert PositiveDefinite(n).check_vector(Root(np.eye(n)), K + K.T) is None


def test_a_basis_that_is_nearly_orthonormal_is_told_how_nearly():
    off = POLAR.check_point((U * (1.0 + 1e-6), R))
    assert "orthonormal" in off.reason
    assert 1e-6 < off.magnitude < 1e-5


@pytest.mark.parametrize("trace", [0.25, 1.0, 7.0])
def test_members_of_the_spectraplex(trace):
    geometry = Spectraplex(4, trace)
    Y = geometry.from_factor(np.arange(1.0, 9.0).reshape(4, 2))
    np.testing.assert_allclose(np.sum(Y**2), trace)
    np.testing.assert_allclose(Y[0] / Y[3], [1.0 / 7.0, 2.0 / 8.0])
    np.testing.assert_allclose(geometry.centre() @ geometry.centre().T, trace / 4.0 * np.eye(4))
    off = geometry.check_point(2.0 * Y)
    np.testing.assert_allclose((off.magnitude, off.allowed), (3.0 * trace, 64 * EPS * math.sqrt(8.0) * trace))


@pytest.mark.parametrize("columns", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("scale", [1.0, 1e-20])
@pytest.mark.parametrize("geometry", [FlatQuotient(5, 3), Polar(5, 3), PositiveDefinite(5)], ids=repr)
def test_a_factor_of_any_width_becomes_the_nearest_point(geometry, scale, columns):
    """Definite matrices have no eigenvalue below EPS times the largest, of M = 0 below EPS; polar points likewise."""
    Y = scale * np.random.default_rng(columns).standard_normal((5, columns))
    point = geometry.from_factor(Y)
    assert geometry.check_point(point) is None
    W, s, _ = np.linalg.svd(Y, full_matrices=False)
    r, found = geometry.factor(point).shape[1], geometry.factor(point)
    largest = s[0] if columns else 1.0
    np.testing.assert_allclose(found @ found.T, (W[:, :r] * s[:r] ** 2) @ W[:, :r].T, atol=4 * EPS * largest**2)
    if columns < r and not isinstance(geometry, FlatQuotient):
        least = np.linalg.svd(found, compute_uv=False)[-1]
        np.testing.assert_allclose(least, math.sqrt(EPS) * largest, rtol=1e-3)


@pytest.mark.parametrize(
    ("make", "arguments", "text"),
    [
        (FlatQuotient, (0, 1), "n must be an integer of at least 1; found 0"),
        *((FlatQuotient, (3, r), rf"r \(rank\) must be .* between 1 and n = 3; found {r}") for r in (0, 4, 1.5)),
        (PSDCone, (0,), "n must be an integer of at least 1; found 0"), (Spectraplex, (0,), "^n must"),
        (PSDCone(2).validated, (np.ones((3, 1)),), "start is not a point of PSDCone.*a factor must have shape"),
        (Spectraplex, (2.5,), "^n must"), *((Spectraplex, (3, trace), "^trace must") for trace in (0.0, -1.0, np.inf)),
        (FixedTrace, (5, 2, 0.0), "trace must"), (FixedTrace, (5, 6), r"r \(rank\)"),
        (FixedTrace(5, 2).from_factor, (np.zeros((5, 2)),), "Y = 0"), (Polar, (4, 5), "between 1 and n = 4"),
        (Polar, (4, 2, 1.5), "weight must be a finite number of at least 0 and at most 1"),
        (PositiveDefinite, (3, "flat"), "unknown metric 'flat'"),
        *(
            (PositiveDefinite, (3, metric, "first-order"), "'first-order' goes with metric 'affine-invariant'")
            for metric in METRICS if metric != "affine-invariant"
        ),
    ],
)  # fmt: skip
def test_bad_arguments(make, arguments, text):
    with pytest.raises(InvalidInputError, match=text):
        make(*arguments)
