"""A residual's force: in MuJoCo's worlds at every substep, and along a recording."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.residuals import Residual, ResidualFile, build_law
from realworthy.residuals.residual import Signal, weigh_signals
from realworthy.simulators.substep_effect import SubstepEffect
from realworthy.twins import BoundTwin
from realworthy.twins.layout import Layout

if TYPE_CHECKING:
    from realworthy.simulators.mujoco_cpu import MujocoCpu
    from realworthy.simulators.replay import Track

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]


class ResidualForce(SubstepEffect):
    """Adds a residual's force to its joints.

    After a reset the history is filled with the present, as if it had lasted.
    """

    def __init__(self, residual: Residual, bound: BoundTwin) -> None:
        self.residual = residual
        described, layout = residual.description, Layout(bound)
        places = [layout.joint(joint) for joint in described.joints]
        self._qpos = [q for q, _ in places]
        self._dofs = [dof for _, dof in places]
        self._columns = find_columns(bound, described)

    def start(self, simulator: "MujocoCpu") -> None:
        self._arrays = [simulator.array(name) for name in ("qpos", "qvel", "ctrl")]
        self._force = simulator.array("qfrc_applied")
        self._law = build_law(self.residual, timestep=simulator.timestep)
        self._fresh = np.ones(simulator.world_count, dtype=bool)
        self._history = self._law.start(self._signals())
        self.gate = np.ones((simulator.world_count, len(self._dofs)))
        """(worlds, joints) share of the force that was believed in the last substep."""

    def reset(self, worlds: Ids) -> None:
        self._fresh[worlds] = True
        self._force[worlds[:, None], self._dofs] = 0.0

    def act(self) -> None:
        signals = self._signals()
        if self._fresh.any():
            self._history[self._fresh] = self._law.start(signals[self._fresh])
            self._fresh[:] = False
        out = self._law.step(signals, self._history)
        self._history, self.gate = out.history, out.gate
        self._force[:, self._dofs] += out.force

    def state(self, worlds: Ids) -> Floats:
        """(n, …) what it remembers; NaN where a world has just begun."""
        history = self._history[worlds].reshape(len(worlds), -1)
        return np.where(self._fresh[worlds][:, None], np.nan, history)

    def restore(self, state: Floats, worlds: Ids) -> None:
        """Puts back what `state` gave."""
        shape = (len(worlds), *self._history.shape[1:])
        self._fresh[worlds] = np.isnan(state).any(axis=1)
        self._history[worlds] = np.nan_to_num(state).reshape(shape)

    @property
    def is_idle(self) -> bool:
        return self.residual.description.gain == 0.0

    def _signals(self) -> Floats:
        qpos, qvel, ctrl = self._arrays
        return stack_signals(
            self.residual.description.signals,
            qpos[:, self._qpos],
            qvel[:, self._dofs],
            ctrl[:, self._columns] if self._columns else None,
        )


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
