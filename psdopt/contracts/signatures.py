"""What a callable of a third party takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any


def signature_of(factory: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of `factory`; None where Python cannot tell."""
    try:
        return inspect.signature(factory)
    except (TypeError, ValueError):
        return None


def accepts(factory: Callable[..., Any], keyword: str) -> bool:
    """Whether `factory` can be called with `keyword`; True where Python cannot tell."""
    signature, kinds = signature_of(factory), inspect.Parameter
    if signature is None or any(p.kind is kinds.VAR_KEYWORD for p in signature.parameters.values()):
        return True
    found = signature.parameters.get(keyword)
    return found is not None and found.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)


def accepts_order(factory: Callable[..., Any], keywords: Iterable[str]) -> bool:
    """Whether `factory(n, **keywords)` is a call that `factory` takes; True where Python cannot tell."""
    signature = signature_of(factory)
    try:
        if signature is not None:
            signature.bind(None, **dict.fromkeys(keywords))
    except TypeError:
        return False
    return True
