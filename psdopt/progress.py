"""Progress bar on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Bar:
    """Thin face of a tqdm bar."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def show(self, iteration: int, value: float, stationarity: float) -> None:
        """Move to `iteration` and show value and relative stationarity."""
        self._bar.set_postfix_str(f"value {value:.8g}, stationarity {stationarity:.1e}", refresh=False)
        self._bar.update(iteration - self._bar.n)


@contextmanager
def progress_bar(wanted: bool, title: str, iteration: int = 0) -> Iterator[Bar | None]:
    """A :class:`Bar`, or None if it is not wanted."""
    if not wanted:
        yield None
        return
    from tqdm.auto import tqdm

    with tqdm(initial=iteration, desc=title, unit=" iterations", dynamic_ncols=True) as bar:
        yield Bar(bar)
