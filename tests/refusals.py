"""Calls that must be refused: the kind of error, and its text to the letter."""

from collections.abc import Callable
from typing import Any

import pytest


def refused(text: str, error: type[Exception], call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    assert str(caught.value) == text
