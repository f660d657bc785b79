"""What a file format does."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import Sidecar
from realworthy.recordings.signals import Table


@dataclass(frozen=True, slots=True)
class Format:
    """Reads and writes one kind of file."""

    read: Callable[[Path], tuple[Table, Sidecar | None]]
    """Columns in the order of the file, and the sidecar inside it, if there is one."""
    write: Callable[[Recording, Path], None]
    embeds: bool
    """Whether the sidecar is written into the file; else it goes beside it."""
