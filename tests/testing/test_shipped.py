"""Everything the core ships passes the kit."""

import importlib.util

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

from psdopt import FlatQuotient, PSDCone, QuadraticSDP
from psdopt.methods import LBFGS, ClosedForm, ConjugateGradient
from psdopt.methods.trust_regions import TrustRegions
from psdopt.testing import parametrize_with_checks
from psdopt.testing.gallery import problems, with_spectrum

X = np.random.default_rng(0).standard_normal((9, 6))
GRAM = X.T @ X
C = with_spectrum(np.linspace(-2.0, 1.0, 6), 2)

PROBLEMS = [
    *problems().values(),
    QuadraticSDP(csr_array(GRAM), None, C),
    QuadraticSDP(aslinearoperator(GRAM), 0.5, aslinearoperator(C)),
    QuadraticSDP(None, 1.0, np.array([[-2.0]])),
    QuadraticSDP(1e8 * GRAM, 1e-8, C, constant=3.0),
]
GEOMETRIES = [FlatQuotient(6, 3), FlatQuotient(5, 1), FlatQuotient(4, 4), FlatQuotient(1, 1), PSDCone(5), PSDCone(1)]


def _later_geometries():
    """Geometries that are there only in fuller installations."""
    import psdopt.geometries as shipped

    found = []
    for name, arguments in (("Spectraplex", [(5,), (4, 7.0)]), ("Polar", [(6, 3), (5, 1), (4, 4)])):
        if name in shipped.__all__ and importlib.util.find_spec("psdopt.geometries"):
            found += [getattr(shipped, name)(*args) for args in arguments]
    return found


@parametrize_with_checks([*PROBLEMS, *GEOMETRIES, *_later_geometries()])
def test_problems_and_geometries(check):
    check()


@parametrize_with_checks([LBFGS(), ClosedForm(), TrustRegions()])
def test_methods(check):
    check()


@parametrize_with_checks(
    [ConjugateGradient()],
    expected_failures={
        "method.solves_instances": "the interior metrics put a singular optimum at infinite distance",
    },
)
def test_conjugate_gradient(check):
    check()
