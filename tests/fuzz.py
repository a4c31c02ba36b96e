"""Mutants of files, and how many examples a fuzz test takes: many with PSDOPT_FUZZ=long, or as many as it says."""

import os

from hypothesis import strategies as st

#: Values at which sizes, signs and versions turn over.
EDGES = (0x00, 0x01, 0x7F, 0x80, 0xFF)


def examples(short: int, long: int) -> int:
    """`short`; `long` where the environment has PSDOPT_FUZZ=long, and at most N of them with PSDOPT_FUZZ=N."""
    asked = os.environ.get("PSDOPT_FUZZ", "")
    return min(int(asked), long) if asked.isdecimal() else long if asked == "long" else short


@st.composite
def mutants(draw: st.DrawFn, content: bytes) -> bytes:
    """`content` with one to four changes: bytes replaced, cut out, repeated or put in, or the end cut off."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(changed) - 1, 0)))
        kind = draw(st.sampled_from(("byte", "byte", "edge", "bit", "cut", "end", "insert", "repeat")))
        if not changed:
            break
        if kind == "byte":
            changed[at] = draw(st.integers(0, 255))
        elif kind == "edge":
            changed[at] = draw(st.sampled_from(EDGES))
        elif kind == "bit":
            changed[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del changed[at : at + draw(st.integers(1, 40))]
        elif kind == "end":
            del changed[at:]
        elif kind == "insert":
            changed[at:at] = draw(st.binary(min_size=1, max_size=12))
        else:
            changed[at:at] = changed[at : at + draw(st.integers(1, 40))]
    return bytes(changed)
