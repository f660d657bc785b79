"""A sign of life for work over two seconds; none where nobody looks."""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 2.0
"""[s] before anything appears."""


def track(items: Sequence[T], what: str) -> Iterator[T]:
    """Yields the items, and shows how many are done once it takes long."""
    with _bar(what, len(items)) as advance:
        for item in items:
            yield item
            advance()


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Shows that something is under way whose length nobody knows."""
    with _bar(what, None):
        yield


@contextlib.contextmanager
def following(what: str) -> Iterator[Callable[[float, str], None]]:
    """Gives a function that shows which share is done, 0 … 1, and what comes next."""
    if not sys.stderr.isatty():
        yield lambda done, part: None
        return
    bar = _Bar(what, 1)
    try:
        yield lambda done, part: bar.show(done, f"{what}: {part}")
    finally:
        bar.stop()


class _Bar:
    """A bar that appears late."""

    def __init__(self, what: str, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
        from rich.table import Column

        self._progress = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            BarColumn(bar_width=None),  # what the words leave
            TaskProgressColumn(table_column=Column(min_width=4, no_wrap=True)),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(what, total=total)
        self._timer = threading.Timer(PATIENCE, self._progress.start)
        self._timer.daemon = True
        self._timer.start()

    def advance(self) -> None:
        self._progress.advance(self._task)

    def show(self, done: float, what: str) -> None:
        self._progress.update(self._task, completed=done, description=what)

    def stop(self) -> None:
        self._timer.cancel()
        self._timer.join()
        self._progress.stop()


@contextlib.contextmanager
def _bar(what: str, total: int | None) -> Iterator[Callable[[], None]]:
    if not sys.stderr.isatty():
        yield lambda: None
        return
    bar = _Bar(what, total)
    try:
        yield bar.advance
    finally:
        bar.stop()
