"""Which recordings a calibration is fitted to, and which judge it.

A calibrated twin beside the one that was given, on recordings it has not seen.

Recordings predicted a little ahead, where a whole replay means nothing.

Where a small error of the start grows, as in a double pendulum, two replays of one
recording part after seconds whatever the model is worth. Where the twin lacks something
that no servo makes up for, whole replays add it up. Then predictions from measured
states are fitted and compared instead, as `measure` has them among its horizons.
"""

import enum
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadRecording
from realworthy.gap.noise import estimate_noise
from realworthy.gap.states import estimate_states
from realworthy.recordings import Recording, distinct_names
from realworthy.simulators.replay import Replayer, Track, is_sound, lay_out, lay_out_all
from realworthy.twins import Twin

_HOLD_OUT_EVERY, _FIRST_HELD_OUT = 4, 2
"""One experiment out of four is held out, the third first."""
_FITTED_SHARE = 0.75
"""Share of a single recording's time that is fitted."""


class CalibrationOutcome(enum.StrEnum):
    """Whether the calibrated twin is to be preferred."""

    IMPROVED = "improved"
    """It predicts held-out recordings better than the twin that was given."""
    ALREADY_RIGHT = "already_right"
    """The twin that was given predicts them to the noise already."""
    NOT_BETTER = "not_better"
    """It does not predict them better: keep the twin that was given."""
    NOT_IDENTIFIED = "not_identified"
    """The recordings identify nothing: keep the twin that was given."""

    @property
    def is_kept(self) -> bool:
        """Whether there is a calibrated twin to write."""
        return self in (self.IMPROVED, self.ALREADY_RIGHT)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutError:
    """Open-loop replay of one held-out recording [rad or m], fingers apart."""

    recording: str
    before: float
    after: float
    persistence: float = float("inf")
    """Of the better of two predictions without a model: the robot stays where it is,
    or goes on at its speed."""


@dataclass(frozen=True, slots=True)
class Division:
    """Recordings to fit and recordings to judge by."""

    fitted: tuple[Recording, ...]
    held_out: tuple[Recording, ...]
    is_by_time: bool = False
    """Whether they are parts of one recording, which share its flaws."""
    whole: tuple[Recording, ...] = ()
    """That recording, or its repeats."""


def divide_recordings(
    recordings: Sequence[Recording], held_out: Sequence[Recording] | None = None
) -> Division:
    """Holds out every fourth experiment; of a single recording, its last quarter.

    Recordings of one `repeat_group` are one experiment and stay together.
    """
    if not recordings:
        raise BadRecording("No recordings were given.", hint="Name at least one.")
    if held_out:
        return Division(tuple(recordings), tuple(held_out))
    experiments = group_repeats(recordings)
    if len(experiments) == 1:
        return divide_at(experiments[0], _FITTED_SHARE)
    first = min(_FIRST_HELD_OUT, len(experiments) - 1)
    held = experiments[first::_HOLD_OUT_EVERY]
    rest = [e for e in experiments if not any(e is h for h in held)]
    return Division(
        tuple(r for e in rest for r in e), tuple(r for e in held for r in e)
    )


def group_repeats(recordings: Sequence[Recording]) -> list[list[Recording]]:
    """Recordings by experiment: those of one `repeat_group` are together."""
    groups: dict[object, list[Recording]] = {}
    for i, recording in enumerate(recordings):
        name = recording.sidecar.repeat_group
        groups.setdefault(i if name is None else f"group {name}", []).append(recording)
    return list(groups.values())


def divide_at(repeats: Sequence[Recording], share: float) -> Division:
    """Repeats are cut at one time: the end of a motion is unseen in all of them."""
    early, late = [], []
    for recording in repeats:
        middle = recording.time[0] + share * recording.duration
        early.append(recording.crop(recording.time[0], middle))
        late.append(recording.crop(middle, recording.time[-1]))
    return Division(tuple(early), tuple(late), is_by_time=True, whole=tuple(repeats))


_OUTLYING_RATIO, _MIN_FOR_USUAL = 5.0, 5
"""Times the usual error from which a recording stands out, and how many recordings show
what is usual."""
_NOISE_RATIO = 1.5
"""Times the noise up to which an error is noise."""


def compare_replays(
    before: Twin, after: Twin, held_out: Sequence[Recording], joints: Sequence[str]
) -> tuple[HeldOutError, ...]:
    """Open-loop replays of every held-out recording in both twins."""
    names = distinct_names(held_out)
    both = (
        replay_errors(before, held_out, joints),
        replay_errors(after, held_out, joints),
    )
    stays = [_stay(recording, joints) for recording in held_out]
    return tuple(
        HeldOutError(
            recording=name or "recording", before=old, after=new, persistence=still
        )
        for name, old, new, still in zip(names, *both, stays, strict=True)
    )


def _stay(recording: Recording, joints: Sequence[str]) -> float:
    """[rad or m] root mean square error of a robot that never leaves its first pose."""
    own = tuple(joint for joint in recording.joints if joint in joints)
    position = recording.stack("position", own)
    return float(np.sqrt(np.mean((position - position[0]) ** 2)))


def replay_errors(
    twin: Twin, recordings: Sequence[Recording], joints: Sequence[str]
) -> list[float]:
    """[rad or m] root mean square over rows and `joints`; inf where it diverged.

    As `measure` has it: recorded commands from the first measured state.
    """
    tracks = lay_out_all(twin, recordings)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda track: _replay(track, joints), tracks))


def _replay(track: Track, joints: Sequence[str]) -> float:
    states = estimate_states(track, estimate_noise(track.recording, track.joints))
    played = Replayer(track, 1, thread_count=1).play(
        position=states.position[:1], velocity=states.velocity[:1]
    )
    if not is_sound(played)[0]:
        return float("inf")
    columns = [i for i, joint in enumerate(track.joints) if joint in joints]
    off = played.position[0][:, columns] - track.position[:, columns]
    return float(np.sqrt(np.mean(off**2)))


def find_outlying(errors: Sequence[HeldOutError]) -> tuple[HeldOutError, ...]:
    """Recordings whose error after the fit stands out; none among few recordings."""
    usual = float(np.median([error.after for error in errors]))
    return tuple(
        error
        for error in errors
        if error.after > _OUTLYING_RATIO * usual and len(errors) >= _MIN_FOR_USUAL
    )


def describe_outlying(errors: Sequence[HeldOutError]) -> tuple[str, ...]:
    """A sentence for each held-out recording that is not like the others."""
    strange = find_outlying(errors)
    rest = [error.after for error in errors if error not in strange]
    return tuple(
        f"{error.recording} is off by {error.after:.3g} rad, "
        f"{error.after / np.median(rest):.0f} times the usual: something happened in "
        "it that the twin does not know, such as a stall. It counts all the same; "
        f"without it held-out recordings are off by {np.mean(rest):.3g} rad."
        for error in strange
    )


def decide_outcome(
    errors: Sequence[HeldOutError], held_out: Sequence[Recording], joints: Sequence[str]
) -> CalibrationOutcome:
    """Whether the calibrated twin does better on the whole, or need not."""
    before = float(np.mean([error.before for error in errors]))
    after = float(np.mean([error.after for error in errors]))
    if before <= _NOISE_RATIO * _find_noise(held_out, joints):
        return CalibrationOutcome.ALREADY_RIGHT
    return (
        CalibrationOutcome.IMPROVED if after < before else CalibrationOutcome.NOT_BETTER
    )


def _find_noise(held_out: Sequence[Recording], joints: Sequence[str]) -> float:
    """[rad or m] root mean square of the noise of positions."""
    sd = []
    for recording in held_out:
        own = tuple(joint for joint in recording.joints if joint in joints)
        sd += estimate_noise(recording, own).position.values()
    return float(np.sqrt(np.mean(np.square(sd))))


AHEAD = 0.5
"""[s] ahead that recordings are predicted, to fit and to judge."""
_START_COUNT = 64
GROWS = (
    "Small errors of the initial state grow exponentially here, so that replays of "
    "whole recordings diverge for any parameters: held-out recordings were predicted "
    f"{AHEAD:g} s ahead from measured states."
)
ADDS_UP = (
    "What the twin lacks accumulates over whole replays: it was fitted to predictions "
    f"{AHEAD:g} s ahead from measured states, and judged by such."
)


def compare_ahead(
    before: Twin, after: Twin, held_out: Sequence[Recording], joints: Sequence[str]
) -> tuple[HeldOutError, ...]:
    """Predictions of every held-out recording by both twins."""
    return tuple(
        HeldOutError(
            recording=name or "recording",
            before=predict_ahead(before, recording, joints),
            after=predict_ahead(after, recording, joints),
            persistence=_persist_ahead(before, recording, joints),
        )
        for recording, name in zip(held_out, distinct_names(held_out), strict=True)
    )


def predict_ahead(twin: Twin, recording: Recording, joints: Sequence[str]) -> float:
    """[rad or m] root mean square `AHEAD` after many measured states; inf if none."""
    squares = predict_each(twin, recording, joints, count=_START_COUNT)
    sound = squares[np.isfinite(squares)]
    return float(np.sqrt(np.mean(sound))) if len(sound) else float("inf")


def _persist_ahead(twin: Twin, recording: Recording, joints: Sequence[str]) -> float:
    """[rad or m] root mean square `AHEAD` after the same states, without a model."""
    track = lay_out(twin, recording)
    states = estimate_states(track, estimate_noise(recording, track.joints))
    rows = _count_rows_ahead(recording, track)
    starts = _list_starts(track, rows, _START_COUNT)
    columns = [i for i, joint in enumerate(track.joints) if joint in joints]
    moved = (track.position[starts + rows] - states.position[starts])[:, columns]
    drift = rows / recording.rate * states.velocity[starts][:, columns]
    stays, goes_on = np.mean(moved**2), np.mean((moved - drift) ** 2)
    return float(np.sqrt(min(stays, goes_on)))


def _count_rows_ahead(recording: Recording, track: Track) -> int:
    return min(max(1, round(AHEAD * recording.rate)), len(track.rows) - 1)


def _list_starts(track: Track, rows: int, count: int) -> NDArray[np.intp]:
    last = len(track.rows) - 1 - rows
    return np.unique(np.linspace(0, last, count).astype(np.intp))


def predict_each(
    twin: Twin, recording: Recording, joints: Sequence[str], *, count: int
) -> NDArray[np.float64]:
    """(starts,) squared errors [rad² or m²] `AHEAD` after up to `count` measured
    states, means over joints; inf where the simulation diverged."""
    track = lay_out(twin, recording)
    states = estimate_states(track, estimate_noise(recording, track.joints))
    rows = _count_rows_ahead(recording, track)
    starts = _list_starts(track, rows, count)
    played = Replayer(track, len(starts)).play(
        starts,
        rows + 1,
        position=states.position[starts],
        velocity=states.velocity[starts],
    )
    columns = [i for i, joint in enumerate(track.joints) if joint in joints]
    off = played.position[:, -1] - track.position[starts + rows]
    return np.where(is_sound(played), np.mean(off[:, columns] ** 2, axis=1), np.inf)
