"""Programs of these tests are solved by psdopt itself, unless a module says otherwise."""

import pytest

from psdopt.interop import _cone_small


@pytest.fixture(autouse=True, scope="module")
def without_clarabel():
    """Without what it does, every small program would be Clarabel's, and Clarabel judges many of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cone_small, "MOST_ROWS", -1)
        yield
