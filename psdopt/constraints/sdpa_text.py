"""The text of an SDPA file, read from front to back: the numbers of its head line by line, then all others."""

from __future__ import annotations

import gzip
import io
import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np

from psdopt.checks import brief
from psdopt.constraints.limits import NUMBERS
from psdopt.data.archives import BOMB_RATIO, SHARE, memory
from psdopt.errors import DataFileError
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import BLOCK

#: Characters that SDPA reads as blanks.
BLANKS = str.maketrans("{}(),", "     ")
INTEGER, VISIBLE, BLANK = re.compile(r"[+-]?\d+"), re.compile(r"\S"), re.compile(r"\s")


class SdpaText:
    """The file `path`, compressed by gzip or not: its head line by line, then all remaining numbers.

    Integers of the head are at most NUMBERS. A file that unpacks to more characters must not be compressed by over
    BOMB_RATIO. Memory is taken for the text and its numbers, and for the words of one block of it at a time.

    Numbers are as in C; Python's underscores and digits of other alphabets are errors. Errors are DataFileErrors with
    the line where there is one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        #: The number of the last line that was read.
        self.at = 0
        self._text, self._position = _unpacked(path), 0
        while (first := VISIBLE.search(self._text, self._position)) and self._text[first.start()] in '"*':
            self._line("")  # comments at the top

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        raise DataFileError(f"{self.path}, line {(self.at if line is None else line) or 1}: {message}")

    def refuse(self, message: str) -> NoReturn:
        """An error of the whole file."""
        raise DataFileError(f"{self.path}: {message}")

    def integers(self, count: int, what: str) -> list[int]:
        """`count` integers; text after them on the same line is a comment."""
        found: list[int] = []
        while left := count - len(found):
            for word in self._line(what).split(None, left)[:left]:
                if INTEGER.fullmatch(word) is None:
                    if not found:
                        self.fail(f"expected {what}; found {brief(word)}")
                    break
                value = float(word)  # int() refuses a word of thousands of digits, be they zeros
                if abs(value) > NUMBERS:
                    self.fail(f"expected {what}, at most {NUMBERS}; found {brief(word)}")
                found.append(int(value))
        return found

    def numbers(self, count: int, what: str) -> Array:
        """`count` numbers on one line or several; more of them are an error."""
        first, begun, total = self.at + 1, self._position, 0
        while total < count:
            total += len(self._line(what).split())
        if total > count:
            self.fail(f"{what} must have {count} numbers; found {total}")
        return self._floats(self._text[begun : self._position], f"finite numbers of {what}", first)

    def rest(self, what: str) -> Array:
        """All remaining numbers."""
        found, total, room = [np.empty(0)], 0, SHARE * memory()
        for text in self._blocks():
            found.append(self._floats(text, what, self.at + 1))
            self.at += text.count("\n")
            total += len(found[-1])
            if 16.0 * total > room:  # the parts and their concatenation
                raise DataFileError(f"{self.path} has more than {total} numbers, which do not fit into memory")
        return np.concatenate(found)

    def _line(self, what: str) -> str:
        """The next line that is not blank."""
        first = VISIBLE.search(self._text, self._position)
        if first is None:
            raise DataFileError(f"{self.path} ends before {what}")
        self.at += self._text.count("\n", self._position, first.start()) + 1
        end = self._text.find("\n", first.start())
        end = len(self._text) if end < 0 else end
        self._position = min(end + 1, len(self._text))
        return self._text[first.start() : end]

    def _blocks(self) -> Iterator[str]:
        """The rest of the text in blocks, cut between numbers."""
        while self._position < len(self._text):
            first, cut = self._position, BLANK.search(self._text, self._position + BLOCK)
            self._position = len(self._text) if cut is None else cut.end()
            yield self._text[first : self._position]

    def _floats(self, text: str, what: str, line: int) -> Array:
        """The numbers of `text`, whose first line is number `line` of the file."""
        try:
            values = np.array(text.split(), dtype=np.float64)
            if "_" not in text and np.isfinite(values).all():
                return values
        except ValueError:
            pass  # the loop below finds the word
        for number, row in enumerate(text.split("\n"), line):
            for word in row.split():
                if not _is_finite(word):
                    self.fail(f"expected {what}; found {brief(word)}", number)
        raise AssertionError("NumPy and float() disagree on what a number is")


def _unpacked(path: Path) -> str:
    """The text of the file, with blanks for all that SDPA reads as such."""
    limit = math.inf
    try:
        found = path.read_bytes()
        if found[:2] == b"\x1f\x8b":
            size, limit = len(found), max(NUMBERS, BOMB_RATIO * len(found))
            with gzip.GzipFile(fileobj=io.BytesIO(found)) as file:
                found = file.read(limit + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataFileError(f"{path} is a damaged .gz file: {error}") from error
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise DataFileError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if len(found) > limit:
        text = f"{path} has {size} bytes that unpack to more than {limit}"
        raise DataFileError(f"{text}; unpack it, or store zeros in the sparse format")
    return found.decode("ascii", "replace").replace("\r\n", "\n").replace("\r", "\n").translate(BLANKS)


def _is_finite(word: str) -> bool:
    try:
        return "_" not in word and math.isfinite(float(word))
    except ValueError:
        return False
