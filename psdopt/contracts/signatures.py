"""Which arguments a third-party callable accepts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any


def signature_of(factory: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of `factory`; None if Python cannot determine it."""
    try:
        return inspect.signature(factory)
    except (TypeError, ValueError):
        return None


def accepts(factory: Callable[..., Any], keyword: str) -> bool:
    """Whether `factory` can be called with `keyword`; True if Python cannot determine it. Of methods it is kept."""
    return _kept(factory.__func__, keyword) if inspect.ismethod(factory) else _accepts(factory, keyword)


def _accepts(factory: Callable[..., Any], keyword: str) -> bool:
    signature, kinds = signature_of(factory), inspect.Parameter
    if signature is None or any(p.kind is kinds.VAR_KEYWORD for p in signature.parameters.values()):
        return True
    found = signature.parameters.get(keyword)
    return found is not None and found.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)


_kept = lru_cache(maxsize=1024)(_accepts)


def accepts_order(factory: Callable[..., Any], keywords: Iterable[str]) -> bool:
    """Whether `factory(n, **keywords)` is a valid call; True if Python cannot determine it."""
    signature = signature_of(factory)
    try:
        if signature is not None:
            signature.bind(None, **dict.fromkeys(keywords))
    except TypeError:
        return False
    return True
