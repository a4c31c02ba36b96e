"""The text of an SDPA file, read from front to back in blocks, so that memory is taken for its numbers only."""

from __future__ import annotations

import gzip
import io
import math
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, cast

import numpy as np

from psdopt.checks import brief
from psdopt.constraints.limits import NUMBERS
from psdopt.data.archives import BOMB_RATIO, SHARE, memory
from psdopt.errors import DataFileError
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import BLOCK

#: Characters that SDPA reads as blanks.
BLANKS = str.maketrans("{}(),", "     ")
INTEGER, INTEGERS, VISIBLE = re.compile(r"[+-]?\d+"), re.compile(r"[+\-\d\s]*"), re.compile(r"\S")


class SdpaText:
    """The file `path`, compressed by gzip or not: its head line by line, then all remaining numbers.

    Integers of the head, and characters of a line of it, are at most NUMBERS. A file that unpacks to more characters
    must not be compressed by over BOMB_RATIO.

    Numbers are as in C; Python's underscores and digits of other alphabets are errors. Errors are DataFileErrors with
    the line where there is one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        #: The number of the last line that was read.
        self.at = 0
        self._text, self._position, self._opening = "", 0, True
        with self._readable():
            packed = self._packed()
            self._file = path.open("rb")
        raw = gzip.GzipFile(fileobj=self._file) if packed else self._file
        self._stream = io.TextIOWrapper(cast(io.BufferedReader, raw), "ascii", "replace")

    def __enter__(self) -> SdpaText:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._file.close()

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        raise DataFileError(f"{self.path}, line {(self.at if line is None else line) or 1}: {message}")

    def integers(self, count: int, what: str) -> list[int]:
        """`count` integers; text after them on the same line is a comment."""
        found: list[int] = []
        while len(found) < count:
            text, first = self._lines(count - len(found), what)
            if INTEGERS.fullmatch(text) and (values := self._whole(text)) is not None:
                found += values[: count - len(found)]
                continue
            for line, row in enumerate(text.split("\n"), first):
                for word in row.split(None, count - len(found))[: count - len(found)]:
                    if INTEGER.fullmatch(word) is None:
                        if not found:
                            self.fail(f"expected {what}; found {brief(word)}", line)
                        break
                    value = float(word)  # int() refuses a word of thousands of digits, be they zeros
                    if abs(value) > NUMBERS:
                        self.fail(f"expected {what}, at most {NUMBERS}; found {brief(word)}", line)
                    found.append(int(value))
        return found

    def numbers(self, count: int, what: str) -> Array:
        """`count` numbers on one line or several; more of them are an error."""
        found, total = [np.empty(0)], 0
        while total < count:
            text, first = self._lines(count - total, what)
            total += len(text.split())
            if total > count:
                self.fail(f"{what} must have {count} numbers; found {total}")
            found.append(self._floats(text, f"finite numbers of {what}", first))
        return np.concatenate(found)

    def rest(self, what: str) -> Array:
        """All remaining numbers."""
        found, total, room = [np.empty(0)], 0, SHARE * memory()
        for text in self._parts(what):
            found.append(self._floats(text, what, self.at + 1))
            self.at += text.count("\n")
            total += len(found[-1])
            if 16.0 * total > room:  # the parts and their concatenation
                raise DataFileError(f"{self.path} has more than {total} numbers, which do not fit into memory")
        return np.concatenate(found)

    def _lines(self, count: int, what: str) -> tuple[str, int]:
        """The next lines, at least one, but too few to hold more than `count` words; and the number of the first."""
        # n characters with a newline at their end hold at most n / 2 words
        end = self._text.rfind("\n", self._position, self._position + 2 * count) + 1
        if self._opening or not end:
            line = self._line(what)
            return line, self.at
        text, first = self._text[self._position : end], self.at + 1
        self.at += text.count("\n")
        self._position = end
        return text, first

    def _line(self, what: str) -> str:
        """The next line that is neither blank nor, at the top of the file, a comment."""
        while True:
            while (first := VISIBLE.search(self._text, self._position)) is None:
                self.at += self._text.count("\n", self._position)
                self._text, self._position = self._block(), 0
                if not self._text:
                    raise DataFileError(f"{self.path} ends before {what}")
            start = first.start()
            self.at += self._text.count("\n", self._position, start) + 1
            end = self._text.find("\n", start)
            while end < 0 and (more := self._block()):
                self._text, start = self._text[start:] + more, 0
                end = self._text.find("\n", len(self._text) - len(more))
                if len(self._text) > NUMBERS:
                    self.fail(f"expected {what}; found a line of more than {NUMBERS - BLOCK} characters")
            end = len(self._text) if end < 0 else end
            self._position = min(end + 1, len(self._text))
            if not (self._opening and self._text[start] in '"*'):
                self._opening = False
                return self._text[start:end]

    def _parts(self, what: str) -> Iterator[str]:
        """The rest of the text, cut between numbers."""
        text, self._text = self._text[self._position :], ""
        while block := self._block():
            text += block
            cut = len(text) if text[-1].isspace() else len(text) - len(text.rsplit(None, 1)[-1])
            if len(text) - cut > BLOCK:
                self.fail(
                    f"expected {what}; found a word of more than {BLOCK} characters", self.at + 1 + text.count("\n")
                )
            yield text[:cut]
            text = text[cut:]
        yield text

    def _block(self) -> str:
        """The next characters, at most BLOCK of them; none at the end. No number is longer."""
        with self._readable():
            return self._stream.read(BLOCK).translate(BLANKS)

    def _packed(self) -> bool:
        """Whether the file is compressed. If so, its unpacked size is checked first, which is fast."""
        with self.path.open("rb") as raw:
            if raw.peek(2)[:2] != b"\x1f\x8b":
                return False
            unpacked, size = 0, os.fstat(raw.fileno()).st_size
            with gzip.GzipFile(fileobj=raw) as file:
                while block := file.read(BLOCK):
                    unpacked += len(block)
                    if unpacked > max(NUMBERS, BOMB_RATIO * size):
                        raise DataFileError(
                            f"{self.path} has {size} bytes that unpack to more than {unpacked - len(block)}; "
                            "unpack it, or store zeros in the sparse format"
                        )
        return True

    def _whole(self, text: str) -> list[int] | None:
        """The integers of `text`, which has digits, signs and blanks only; None if a word is none or too large."""
        try:
            values = np.array(text.split(), dtype=np.float64)
        except ValueError:
            return None
        return None if np.any(np.abs(values) > NUMBERS) else values.astype(np.int64).tolist()

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Errors of reading as DataFileErrors."""
        try:
            yield
        except DataFileError:
            raise
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataFileError(f"{self.path} is a damaged .gz file: {error}") from error
        except (OSError, ValueError) as error:  # ValueError: a null byte in the name
            raise DataFileError(f"cannot read {self.path}: {getattr(error, 'strerror', None) or error}") from error

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


def _is_finite(word: str) -> bool:
    try:
        return "_" not in word and math.isfinite(float(word))
    except ValueError:
        return False
