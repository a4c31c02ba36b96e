"""Data sets by name, of plugins or in files."""

from __future__ import annotations

from pathlib import Path

from psdopt.data.columns import FOUND, Choice
from psdopt.data.data_files import SUFFIXES, SUFFIXES_TEXT, read_data_file
from psdopt.data.datasets import Dataset
from psdopt.data.files import without_compression
from psdopt.data.row_files import ROW_SUFFIXES
from psdopt.errors import InvalidInputError, UnknownNameError, unknown_name
from psdopt.plugins.manager import PluginManager, plugin_manager


def load_dataset(source: str, manager: PluginManager | None = None, choice: Choice = FOUND) -> Dataset:
    """The data set called `source` in a plugin, or in the file `source`; UnknownNameError if it is neither.

    choice : the label and columns to leave out, if it is a file of a table.
    """
    manager = manager or plugin_manager()
    known = manager.names("dataset")
    if source in known:
        if choice:
            raise InvalidInputError(f"--label and --drop name columns of a file; {source} is a data set by name")
        dataset = manager.get("dataset", source).factory()
        if not isinstance(dataset, Dataset):
            raise InvalidInputError(
                f"data set {source!r}: its factory must return a psdopt.plugins.Dataset; found {type(dataset).__name__}"
            )
        return dataset
    path = Path(source)
    if without_compression(path).suffix.lower() in (*SUFFIXES, *ROW_SUFFIXES) or path.name != source or path.is_file():
        return read_data_file(source, choice)
    error = unknown_name("data set", source, known)
    raise UnknownNameError(f"{error}; a file must end in {SUFFIXES_TEXT}")
