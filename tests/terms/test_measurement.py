"""The interface of measurements: what each one offers, and what it refuses."""

import numpy as np
import pytest

from psdopt.contracts.images import Images
from psdopt.errors import InvalidTypeError
from psdopt.terms.measurement import Measurement
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms, TripletDifferences


def test_a_measurement_without_a_coupling_says_so():
    class Plain(Entries):
        couples = False
        coupling = Measurement.coupling

    with pytest.raises(InvalidTypeError, match="Plain offers no coupling"):
        Plain([0], [1], 3).coupling(np.eye(3), np.eye(3), Images((), np.eye(3)))


@pytest.mark.parametrize("kind", [QuadraticForms, PairDistances, TripletDifferences, Entries])
def test_a_measurement_offers_what_terms_call_and_nothing_else(kind):
    """A faster form of a method of the interface under another name would lie idle."""
    own = {name for name, value in vars(kind).items() if callable(value) and not name.startswith("_")}
    assert {"pair", "adjoint"} <= own <= set(dir(Measurement))
