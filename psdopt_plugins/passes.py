"""Progress bars for passes over rows that are read in blocks."""

from __future__ import annotations

from typing import Any


class PassBar:
    """A progress bar over the rows of each pass, as an observer; silent unless `shown`."""

    def __init__(self, shown: bool) -> None:
        self.shown, self.bar = shown, None

    def __enter__(self) -> Any:
        if self.shown:
            from tqdm import tqdm

            self.bar = tqdm(desc="rows", unit="row", unit_scale=True, leave=False)
        return self._observe

    def _observe(self, name: str, done: int, rows: int) -> None:
        if self.bar is not None:
            if self.bar.n >= done:
                self.bar.reset(rows)
            self.bar.update(done - self.bar.n)

    def __exit__(self, *exception: Any) -> None:
        if self.bar is not None:
            self.bar.close()
