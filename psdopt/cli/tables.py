"""Tables on standard output, made with rich."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from psdopt.cli.plain import shown

#: Least width; in a narrower table columns would shrink to one letter. Files and pipes get three times this width.
LEAST_WIDTH = 40


def width() -> int:
    """Columns of the terminal, or COLUMNS if set; if standard output is no terminal, enough for whole lines."""
    return max(shutil.get_terminal_size((3 * LEAST_WIDTH, 0)).columns, LEAST_WIDTH)


def height() -> int:
    """Lines of the terminal, or LINES if set; 0 if standard output is no terminal."""
    return shutil.get_terminal_size((0, 0)).lines


def console() -> Any:
    """A rich console on the current standard output."""
    from rich.console import Console

    return Console(file=sys.stdout, width=width(), highlight=False, markup=False, emoji=False)


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, headings: bool = True) -> None:
    """Print a table; long cells are wrapped, never cut."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(shown(title), style="bold"), title_justify="left", box=box.SIMPLE_HEAD, show_header=headings
    )
    for k, column in enumerate(columns):
        table.add_column(shown(column), overflow="fold", no_wrap=False, style="bold" if k == 0 else "")
    for row in rows:
        table.add_row(*[Text(shown(cell)) for cell in row])
    console().print(table)
