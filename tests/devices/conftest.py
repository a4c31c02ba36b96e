"""Every library of arrays, one after the other."""

import pytest

from tests.devices.libraries import LIBRARIES


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> str:
    return str(request.param)
