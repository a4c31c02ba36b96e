"""The settings of the library's own tests."""

from tests.conftest import seeded

__all__ = ["seeded"]
