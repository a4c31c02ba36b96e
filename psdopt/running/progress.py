"""Progress bar on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: (iteration, value, relative stationarity, relative gap or None): what a progress bar shows.
Show = Callable[[int, float, float, float | None], None]


@contextmanager
def progress_bar(wanted: bool, title: str, iteration: int = 0) -> Iterator[Show]:
    """The function that moves a bar on standard error; it does nothing unless the bar is wanted."""
    if not wanted:
        yield lambda *_: None
        return
    from tqdm.auto import tqdm

    with tqdm(initial=iteration, desc=title, unit=" iterations", dynamic_ncols=True) as bar:

        def show(iteration: int, value: float, stationarity: float, gap: float | None) -> None:
            proven = "" if gap is None else f", proven gap {gap:.1e}"
            bar.set_postfix_str(f"value {value:.8g}, stationarity {stationarity:.1e}{proven}", refresh=False)
            bar.update(iteration - bar.n)

        yield show
