"""What a callable of a third party takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any


def accepts(factory: Callable[..., Any], keyword: str) -> bool:
    """Whether `factory` can be called with `keyword`; True where Python cannot tell."""
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return True
    kinds = inspect.Parameter
    if any(parameter.kind is kinds.VAR_KEYWORD for parameter in signature.parameters.values()):
        return True
    found = signature.parameters.get(keyword)
    return found is not None and found.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)


def accepts_order(factory: Callable[..., Any], keywords: Iterable[str]) -> bool:
    """Whether `factory(n, **keywords)` is a call that `factory` takes; True where Python cannot tell."""
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(None, **dict.fromkeys(keywords))
    except TypeError:
        return False
    return True
