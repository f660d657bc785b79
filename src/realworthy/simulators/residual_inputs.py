"""What a residual sees, in a running world and along a recording."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.residuals import Residual, ResidualFile
from realworthy.residuals.residual import Signal, weigh_signals
from realworthy.twins import BoundTwin
from realworthy.twins.layout import Layout

if TYPE_CHECKING:
    from realworthy.simulators.replay import Track

Floats = NDArray[np.float64]


def find_columns(bound: BoundTwin, description: ResidualFile) -> list[int]:
    """Columns of a command that are position goals of the joints; needs `error`."""
    if "error" not in description.signals:
        return []
    layout, columns = Layout(bound), []
    explicit = {drive.name for drive in bound.drives}
    for joint in description.joints:
        actuator = layout.actuator(joint)
        if layout.actuators[actuator] in explicit:
            raise RealworthyError(
                f"The drive of '{joint}' is an explicit law, whose goal a residual"
                " cannot see.",
                hint="Use the signals position and velocity.",
            )
        columns.append(int(bound.model.actuator_ctrladr[actuator]))
    return columns


def stack_signals(
    signals: Sequence[Signal], position: Floats, velocity: Floats, goal: Floats | None
) -> Floats:
    """(rows, joints, signals) from (rows, joints) each."""
    error = 0.0 * position if goal is None else goal - position
    known = {"position": position, "velocity": velocity, "error": error}
    return np.stack([known[name] for name in signals], axis=-1)


def read_inputs(
    track: "Track",
    description: ResidualFile,
    position: Floats,
    velocity: Floats,
    rows: NDArray[np.intp],
) -> Floats:
    """(rows, joints, slots, signals) along a recording, newest slot first.

    States are (all rows, joints of the track); before the first row it holds.
    """
    chosen = [track.joints.index(joint) for joint in description.joints]
    columns = find_columns(track.bound, description)
    goal = track.control[track.rows][:, columns] if columns else None
    signals = stack_signals(
        description.signals, position[:, chosen], velocity[:, chosen], goal
    )
    stride = max(1, round(description.period * track.recording.rate))
    back = rows[:, None] - stride * np.arange(description.history)
    seen = signals[np.maximum(back, 0)] * weigh_signals(description)
    return np.moveaxis(seen, 1, 2)


def compute_along(
    residual: Residual,
    track: "Track",
    position: Floats,
    velocity: Floats,
    rows: NDArray[np.intp],
) -> Floats:
    """(rows, joints of the track) [N·m or N] that a residual gives along a recording.

    Zero on joints that feel none, and where not all of its joints were recorded.
    """
    described, found = residual.description, np.zeros((len(rows), len(track.joints)))
    if not {*described.joints} <= {*track.joints}:
        return found
    inputs = read_inputs(track, described, position, velocity, rows)
    count = len(rows) * (len(described.joints) if described.scope == "joint" else 1)
    force, _ = residual.ensemble.step(inputs.reshape(count, -1))
    chosen = [track.joints.index(joint) for joint in described.joints]
    found[:, chosen] = described.gain * force.reshape(len(rows), -1)
    return found
