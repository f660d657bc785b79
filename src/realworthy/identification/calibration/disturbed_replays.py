"""Recordings in which something happened that no twin of the robot predicts.

A joint stalls on what the twin lacks, or responses shift in time. Their rows count in
every error; errors without them stand beside.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from realworthy.gap.noise import estimate_noise
from realworthy.gap.states import estimate_states
from realworthy.identification.calibration.response_shift import (
    ResponseShift,
    find_response_shift,
)
from realworthy.identification.calibration.stalls import (
    Stall,
    describe_stalls,
    find_stalls,
)
from realworthy.identification.problem.joint_by_joint import (
    PositionServo,
    find_position_servos,
)
from realworthy.recordings import Recording, distinct_names
from realworthy.simulators.replay import Replayer, is_sound, lay_out
from realworthy.twins import Twin


@dataclass(frozen=True, slots=True)
class DisturbedReplay:
    """A recording in which joints stall or responses shift, replayed."""

    recording: str
    stalls: tuple[Stall, ...]
    shift: ResponseShift | None
    error: float
    """[rad or m] root mean square over all its rows."""
    error_apart: float
    """The same without the rows of the stalls, and from the shift on."""

    def to_words(self) -> str:
        """What happened, and what that is of the error."""
        told = []
        if self.stalls:
            told.append(
                f"{describe_stalls(self.stalls)}: it touches something that the twin "
                "lacks, such as an end stop or a cable"
            )
        if self.shift is not None:
            told.append(
                f"{self.shift.to_words()}: the bus fell behind, or rows were lost"
            )
        return (
            f"In {self.recording} {'; '.join(told)}. Replays are off by "
            f"{self.error:.3g} rad, and by {self.error_apart:.3g} rad without these "
            "rows."
        )


def find_disturbed_replays(
    twin: Twin, recordings: Sequence[Recording], joints: Sequence[str]
) -> tuple[DisturbedReplay, ...]:
    """Recordings of position servos with a stall or a shift that the twin has not.

    `twin` has gains and frictions that are about right.
    """
    servos = find_position_servos(twin, joints)
    if servos is None:
        return ()
    found = (
        _find(twin, recording, name or "recording", servos)
        for recording, name in zip(recordings, distinct_names(recordings), strict=True)
    )
    return tuple(replay for replay in found if replay is not None)


def _find(
    twin: Twin, recording: Recording, name: str, servos: Sequence[PositionServo]
) -> DisturbedReplay | None:
    track = lay_out(twin, recording)
    states = estimate_states(track, estimate_noise(track.recording, track.joints))
    own = [servo for servo in servos if servo.joint in track.joints]
    played = Replayer(track, 1).play(
        position=states.position[:1], velocity=states.velocity[:1]
    )
    if not own or not is_sound(played)[0]:
        return None
    columns = [track.joints.index(servo.joint) for servo in own]
    simulated, measured = played.position[0][:, columns], track.position[:, columns]
    off = simulated - measured
    stalls, disturbed = find_stalls(twin, track, off, own)
    shift = find_response_shift(recording.time, simulated, measured)
    if shift is not None:
        disturbed[shift.row :] = True
    if not disturbed.any() or disturbed.all():
        return None
    return DisturbedReplay(
        recording=name,
        stalls=stalls,
        shift=shift,
        error=float(np.sqrt(np.mean(off**2))),
        error_apart=float(np.sqrt(np.mean(off[~disturbed] ** 2))),
    )
