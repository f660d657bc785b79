"""Which recordings a calibration is fitted to, and which judge it."""

from collections.abc import Sequence
from dataclasses import dataclass

from realworthy.errors import BadRecording
from realworthy.recordings import Recording

_EVERY, _FIRST = 4, 2
"""One experiment out of four is held out, the third first."""
_FITTED = 0.75
"""Share of a single recording's time that is fitted."""


@dataclass(frozen=True, slots=True)
class Division:
    """Recordings to fit and recordings to judge by."""

    fitted: tuple[Recording, ...]
    held_out: tuple[Recording, ...]
    is_by_time: bool = False
    """Whether they are parts of one recording, which share its flaws."""


def divide(
    recordings: Sequence[Recording], held_out: Sequence[Recording] | None = None
) -> Division:
    """Holds out every fourth experiment; of a single recording, its last quarter.

    Recordings of one `repeat_group` are one experiment and stay together.
    """
    if not recordings:
        raise BadRecording("No recordings were given.", hint="Name at least one.")
    if held_out:
        return Division(tuple(recordings), tuple(held_out))
    groups: dict[object, list[Recording]] = {}
    for i, recording in enumerate(recordings):
        name = recording.sidecar.repeat_group
        groups.setdefault(i if name is None else f"group {name}", []).append(recording)
    experiments = list(groups.values())
    if len(experiments) == 1:
        return _divide_time(experiments[0])
    first = min(_FIRST, len(experiments) - 1)
    held = experiments[first::_EVERY]
    rest = [e for e in experiments if not any(e is h for h in held)]
    return Division(
        tuple(r for e in rest for r in e), tuple(r for e in held for r in e)
    )


def _divide_time(repeats: Sequence[Recording]) -> Division:
    """Repeats are cut at one time: the end of a motion is unseen in all of them."""
    early, late = [], []
    for recording in repeats:
        middle = recording.time[0] + _FITTED * recording.duration
        early.append(recording.crop(recording.time[0], middle))
        late.append(recording.crop(middle, recording.time[-1]))
    return Division(tuple(early), tuple(late), is_by_time=True)
