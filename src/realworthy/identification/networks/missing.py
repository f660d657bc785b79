"""Forces that recordings call for and a twin lacks, beside what a residual would see.

Labels need no torque sensor: inverse dynamics at the measured motion, accelerations
from local cubics, minus what the twin's own drives and friction deliver.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadRecording, UnknownName
from realworthy.gap.noise import estimate_noise
from realworthy.gap.states import States, estimate_states
from realworthy.recordings import Recording
from realworthy.residuals import ResidualFile
from realworthy.simulators.inverse_dynamics import missing_torques
from realworthy.simulators.replay import Track, lay_out_all
from realworthy.simulators.residual_force import read_inputs
from realworthy.twins import Twin, bind
from realworthy.twins.layout import Layout
from realworthy.twins.writers.actuators import is_position_servo

Floats = NDArray[np.float64]
_EDGE = 0.03
"""[s] at either end where smoothed accelerations are poor."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Labelled:
    """One recording as rows to learn from."""

    track: Track
    states: States
    inputs: Floats
    """(rows, joints, slots, signals) as the ensemble sees them, newest slot first."""
    force: Floats
    """(rows, joints) [N·m or N] missing."""


def label_forces(
    twin: Twin, recordings: Sequence[Recording], description: ResidualFile
) -> list[Labelled]:
    """Missing forces along recordings, for the joints of `description`.

    A residual that the twin has already counts as missing.
    """
    tracks = lay_out_all(twin.without_residual(), recordings)
    if any(track.base is not None or track.hangs for track in tracks):
        raise BadRecording(
            "A residual cannot be fitted to a floating base: its contacts were not"
            " measured.",
            hint="Fix the base, or record the robot on a stand.",
        )
    return [_label(track, description) for track in tracks]


def add_stiffness(twin: Twin, description: ResidualFile) -> ResidualFile:
    """The description with the stiffness of its joints' servos, where all have one.

    What a drive lacks goes with its torque: friction under load does, and an error of
    one size is another torque on every joint.
    """
    if "error" not in description.signals or description.stiffness:
        return description
    bound = bind(twin)
    model, layout = bound.model, Layout(bound)
    actuators = [layout.actuator(joint) for joint in description.joints]
    if not all(is_position_servo(model, i) for i in actuators):
        return description
    found = layout.gears[actuators] ** 2 * model.actuator_gainprm[actuators, 0]
    return msgspec.structs.replace(description, stiffness=tuple(found.tolist()))


def _label(track: Track, description: ResidualFile) -> Labelled:
    for joint in description.joints:
        if joint not in track.joints:
            owner = track.recording.owner
            raise UnknownName("joint", joint, track.joints, owner=owner)
    chosen = [track.joints.index(joint) for joint in description.joints]
    rate = track.recording.rate
    states = estimate_states(track, estimate_noise(track.recording, track.joints))
    stride = max(1, round(description.period * rate))
    edge = max(1, round(_EDGE * rate))
    first = max(edge, (description.history - 1) * stride)
    rows = np.arange(first, len(track.rows) - edge)
    if len(rows) < 2:
        raise BadRecording(
            f"{track.recording.owner} is too short to learn from.",
            hint=f"It needs more than {(first + edge) / rate:.2g} s.",
        )
    force = missing_torques(
        track,
        rows.astype(np.intp),
        states.position[rows],
        states.velocity[rows],
        states.acceleration[rows],
    )
    return Labelled(
        track=track,
        states=states,
        inputs=read_inputs(track, description, states.position, states.velocity, rows),
        force=force[:, chosen],
    )
