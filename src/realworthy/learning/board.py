"""Rows of numbers for TensorBoard; a full disk costs rows, not the run."""

import math
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any


class Board:
    """Writes event files into a folder, until that fails."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None
        self.problem = ""
        """Why nothing more is written; empty: it is."""

    def __enter__(self) -> "Board":
        self._attempt(self._open)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer is not None:
            self._attempt(self._writer.close)

    def write(self, row: Mapping[str, float], step_count: int) -> None:
        """One row; numbers that are not finite are left out."""
        if self._writer is None:
            return

        def put() -> None:
            for name, value in row.items():
                if math.isfinite(value):
                    self._writer.add_scalar(name, value, step_count)

        self._attempt(put)

    def _open(self) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(self._folder))

    def _attempt(self, work: Callable[[], None]) -> None:
        """TensorBoard writes in a thread, whose failures come up in later calls."""
        try:
            work()
        except OSError as error:
            self._writer = None
            self.problem = f"Metrics could not be written: {error}"
            warnings.warn(self.problem, stacklevel=3)
