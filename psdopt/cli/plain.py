"""Text for terminals whose encoding lacks some characters: ASCII, Latin-1, code pages."""

from __future__ import annotations

import codecs
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

#: Name of the codec error handler that replaces characters that an encoding lacks.
HANDLER = "psdopt.plain"
#: Pairs of a character and its replacement.
_TABLE = """
⪰ >=  ⪯ <=  ≤ <=  ≥ >=  ≠ !=  ≈ ~  ∈ in  ± +-  × x  · *  − -  – -  — -  … ...  → ->  Σ sum  √ sqrt  ∞ inf
ᵀ ^T  ² ^2  ³ ^3  ₊ +  ½ 1/2  ⟨ <  ⟩ >  λ lambda  ρ rho  ξ xi  ν nu  μ mu  τ tau  ε eps  Ψ Psi  ö oe  ä ae
ü ue  ß ss  ‘ '  ’ '  “ "  ” "  ─ -  ━ -  │ |  • *
"""
_PLAIN = {"∇": "grad ", **dict(zip(_TABLE.split()[::2], _TABLE.split()[1::2], strict=True))}


def plain(text: str, encoding: str | None) -> str:
    """`text` with each character that `encoding` lacks replaced: by words of ASCII, by its base letter, or by "?"."""
    name = encoding or "ascii"
    return text.encode(name, HANDLER).decode(name, "replace")


def shown(text: str) -> str:
    """`text` with characters that standard output can show."""
    return plain(text, getattr(sys.stdout, "encoding", None) or "utf-8")


@contextmanager
def plain_streams() -> Iterator[None]:
    """Within the context, standard output and error replace characters that they cannot show, and never raise."""
    changed: list[tuple[TextIOWrapper, str]] = []
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors is not None:
            changed.append((stream, stream.errors))
            stream.reconfigure(errors=HANDLER)
    try:
        yield
    finally:
        for stream, errors in changed:
            if not stream.closed:
                stream.reconfigure(errors=errors)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_one, error.object[error.start : error.end])), error.end


def _one(character: str) -> str:
    candidates = (_PLAIN.get(character, ""), unicodedata.normalize("NFKD", character)[:1])
    return next((text for text in candidates if text and text.isascii()), "?")


codecs.register_error(HANDLER, _replaced)
