"""How far some work is: what every verb tells whoever wants to see it."""

from typing import Protocol


class Progress(Protocol):
    """Called while a verb works; `print` is one, and so is a command's bar."""

    def __call__(self, fraction: float, stage: str, /) -> None:
        """`fraction` of the whole is done, 0 … 1; `stage` says what is being done."""
        ...


def ignore(fraction: float, stage: str, /) -> None:
    """Nobody is looking."""


def part(progress: Progress, start: float, end: float, *, prefix: str = "") -> Progress:
    """For a part of the work, whose 0 … 1 is `start` … `end` of the whole."""

    def tell(fraction: float, stage: str, /) -> None:
        progress(start + (end - start) * fraction, prefix + stage)

    return tell
