"""Whether recordings are long enough for what is asked of them."""

from collections.abc import Sequence

from realworthy.errors import BadRecording
from realworthy.recordings.recording import Recording

MIN_SECONDS, MIN_ROWS = 0.25, 16
"""Of all recordings together: below, derivatives of the shortest window and a held-out
quarter cannot be had; 2026-11-19."""
_USUAL_SECONDS = 20.0
"""[s] of motion in which parameters of drives are usually identified, as `excite` plans
by default."""


def check_enough(recordings: Sequence[Recording], work: str) -> None:
    """Raises where recordings hold too little for any answer; says how much it takes.

    `work` is what was asked, such as `diagnose`.
    """
    seconds = sum(recording.duration for recording in recordings)
    rows = sum(len(recording.time) for recording in recordings)
    if seconds >= MIN_SECONDS and rows >= MIN_ROWS:
        return
    count = "the recording holds" if len(recordings) == 1 else "the recordings hold"
    raise BadRecording(
        f"Too little to {work}: {count} {seconds:.3g} s in {rows} rows.",
        hint=f"It takes {MIN_SECONDS:g} s and {MIN_ROWS} rows at the very least, and "
        f"about {_USUAL_SECONDS:g} s of motion of every joint for an answer. "
        "realworthy excite TWIN designs such a motion.",
    )
