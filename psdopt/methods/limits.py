"""Limits that several methods share, each number in one place."""

from __future__ import annotations

#: A factor below this share of its first length has vanished, and one longer than its first length by the inverse of
#: this share runs away. A principal axis of M with less than this share of the largest eigenvalue counts as zero.
VANISHED = 1e-6
