"""Multipliers that are handed out where constraints leave a face: finite, with a slack that is semidefinite."""

import numpy as np
import pytest

from psdopt import Constrained, InteriorPoint, LagrangeNewton, QuadraticSDP, certify, constraints, solve
from psdopt.certificates.constrained.face_multipliers import handed_out
from tests.constraints.faces.test_face import E, N, centred, hidden


def test_multipliers_are_handed_out_with_a_slack_that_is_semidefinite_to_tolerance() -> None:
    for problem in (hidden(E(0, 0, 100.0) + E(3, 3) + E(1, 2, 7.0)), centred(6, np.ones(6))):
        for method in (InteriorPoint(), LagrangeNewton()):
            certificate = solve(problem, method=method).certificate
            y, C = certificate.constraints.multipliers, problem.conic.C.toarray()
            low = np.linalg.eigvalsh(problem.conic.slack(y).toarray())[0]
            assert low >= -1e-6 * (1.0 + np.abs(C).max())
            assert np.linalg.eigvalsh(problem.conic.slack(0.0 * y).toarray())[0] < -0.1
            again = certify(problem, solve(problem, method=method).matrix, dual=y)
            assert again.proves(1e-6)
            assert again.dual_value == pytest.approx(certificate.dual_value, rel=1e-6, abs=1e-6)


def test_the_multiples_of_a_face_of_a_face_are_of_growing_size() -> None:
    """M_00 = 0, so that M_01 = 0 and M_11 + 2 M_01 = 0 says M_11 = 0: no multiple of both rows is enough alone."""
    rows = constraints.sparse_forms([E(0, 0), E(1, 1) + E(0, 1)], [0.0, 0.0])
    problem = Constrained(
        QuadraticSDP(C=E(0, 2) + E(1, 2) + E(3, 3) + E(2, 2, 1e-3)), [rows, constraints.trace(N, 1.0)]
    )
    assert len(problem.face.stages) == 2
    y = handed_out(problem, problem.at(np.eye(N)), np.zeros(3), np.zeros(3), 0.0, 1e-3)
    assert y[0] > y[1] > 0.0
    assert np.linalg.eigvalsh(problem.conic.slack(y).toarray())[0] >= -1e-3
