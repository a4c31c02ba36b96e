"""Writing files completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from psdopt.errors import DataFileError


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """A binary file handle under a temporary name in the same folder, renamed to `path` at the end.

    On any error the temporary file is removed and an existing `path` is left as it was. Raises
    DataFileError if the folder cannot be written.
    """
    path = Path(path)
    try:
        handle = tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False)  # noqa: SIM115
    except OSError as error:
        raise DataFileError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        with handle:
            yield handle
        os.chmod(handle.name, 0o666 & ~_umask())  # temporary files are private, outputs follow the umask
        os.replace(handle.name, path)
    except BaseException:
        Path(handle.name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
