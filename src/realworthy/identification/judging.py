"""A calibrated twin beside the one that was given, on recordings it has not seen."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from realworthy.gap.noise import estimate_noise
from realworthy.gap.states import estimate_states
from realworthy.identification.calibration import Error, Outcome
from realworthy.recordings import Recording, distinct_names
from realworthy.simulators.replay import Replayer, Track, is_sound, lay_out_all
from realworthy.twins import Twin

_STRANGE, _FEWEST = 5.0, 5
"""Times the usual error from which a recording stands out, and how many recordings say
what is usual."""
_NOISE = 1.5
"""Times the noise up to which an error is noise."""


def compare(
    before: Twin, after: Twin, held_out: Sequence[Recording], joints: Sequence[str]
) -> tuple[Error, ...]:
    """Open-loop replays of every held-out recording in both twins."""
    names = distinct_names(held_out)
    both = (
        replay_errors(before, held_out, joints),
        replay_errors(after, held_out, joints),
    )
    return tuple(
        Error(recording=name or "recording", before=old, after=new)
        for name, old, new in zip(names, *both, strict=True)
    )


def replay_errors(
    twin: Twin, recordings: Sequence[Recording], joints: Sequence[str]
) -> list[float]:
    """[rad or m] root mean square over rows and `joints`; inf where it blew up.

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


def find_strange(errors: Sequence[Error]) -> tuple[Error, ...]:
    """Recordings whose error after the fit stands out; none among few recordings."""
    usual = float(np.median([error.after for error in errors]))
    return tuple(
        error
        for error in errors
        if error.after > _STRANGE * usual and len(errors) >= _FEWEST
    )


def describe_strange(errors: Sequence[Error]) -> tuple[str, ...]:
    """A sentence for each held-out recording that is not like the others."""
    strange = find_strange(errors)
    rest = [error.after for error in errors if error not in strange]
    return tuple(
        f"{error.recording} is off by {error.after:.3g} rad, "
        f"{error.after / np.median(rest):.0f} times the usual: something happened in "
        "it that the twin does not know, such as a stall. It counts all the same; "
        f"without it held-out recordings are off by {np.mean(rest):.3g} rad."
        for error in strange
    )


def decide(
    errors: Sequence[Error], held_out: Sequence[Recording], joints: Sequence[str]
) -> Outcome:
    """Whether the calibrated twin does better on the whole, or need not."""
    before = float(np.mean([error.before for error in errors]))
    after = float(np.mean([error.after for error in errors]))
    if before <= _NOISE * _find_noise(held_out, joints):
        return Outcome.ALREADY_RIGHT
    return Outcome.IMPROVED if after < before else Outcome.NOT_BETTER


def _find_noise(held_out: Sequence[Recording], joints: Sequence[str]) -> float:
    """[rad or m] root mean square of the noise of positions."""
    sd = []
    for recording in held_out:
        own = tuple(joint for joint in recording.joints if joint in joints)
        sd += estimate_noise(recording, own).position.values()
    return float(np.sqrt(np.mean(np.square(sd))))
