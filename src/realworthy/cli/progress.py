"""A progress bar for work over two seconds; none where nobody looks."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_PATIENCE = 2.0
"""[s] before a bar appears."""


def track(items: Iterable[T], *, what: str = "") -> Iterator[T]:
    """Yields the items, showing how many are done once it takes long."""
    from rich.progress import Progress

    items = list(items)
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console

    start, bar = time.monotonic(), None
    try:
        for done, item in enumerate(items):
            if bar is None and time.monotonic() - start > _PATIENCE:
                bar = Progress(console=Console(stderr=True), transient=True)
                bar.start()
                task = bar.add_task(what, total=len(items))
            if bar is not None:
                bar.update(task, completed=done)  # pyright: ignore[reportPossiblyUnboundVariable]
            yield item
    finally:
        if bar is not None:
            bar.stop()
