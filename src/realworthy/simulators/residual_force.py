"""A residual's force: in MuJoCo's worlds at every substep, and along a recording."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import array_api_compat as api
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.residuals import Residual, ResidualFile, build_law
from realworthy.residuals.arrays import Array, constant
from realworthy.residuals.residual import Signal, weigh_signals
from realworthy.simulators.simulator import Simulator, to_numpy
from realworthy.simulators.substep_effect import SubstepEffect
from realworthy.twins import BoundTwin
from realworthy.twins.layout import Layout

if TYPE_CHECKING:
    from realworthy.simulators.replay import Track

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]


class ResidualForce(SubstepEffect):
    """Adds a residual's force to its joints, on numpy arrays or torch tensors.

    After a reset the history is filled with the present, as if it had lasted.
    """

    def __init__(self, residual: Residual, bound: BoundTwin) -> None:
        self.residual = residual
        described, layout = residual.description, Layout(bound)
        places = [layout.joint(joint) for joint in described.joints]
        self._qpos = [q for q, _ in places]
        self._dofs = [dof for _, dof in places]
        self._columns = find_columns(bound, described)

    def start(self, simulator: Simulator) -> None:
        self._arrays = [simulator.array(name) for name in ("qpos", "qvel", "ctrl")]
        self._force = simulator.array("qfrc_applied")
        signals = self._signals()
        ensemble = self.residual.ensemble.to(signals)
        placed = replace(self.residual, ensemble=ensemble)
        self._law = build_law(placed, timestep=simulator.timestep)
        self._history = self._law.start(signals)
        self._fresh, self._has_fresh = self._history[:, 0, 0, 0] == np.inf, False
        self.gate = 0.0 * signals[..., 0] + 1.0
        """(worlds, joints) share of the force that was believed in the last substep."""

    def reset(self, worlds: Array) -> None:
        """Begins anew in some worlds, by number or as a mask."""
        self._fresh[worlds], self._has_fresh = True, True
        xp, before = api.array_namespace(self._force), self._force[:, self._dofs]
        self._force[:, self._dofs] = xp.where(self._fresh[:, None], 0.0, before)

    def act(self) -> None:
        signals = self._signals()
        if self._has_fresh:
            xp, fresh = api.array_namespace(signals), self._fresh[:, None, None, None]
            self._history = xp.where(fresh, self._law.start(signals), self._history)
            self._fresh[:], self._has_fresh = False, False
        out = self._law.step(signals, self._history)
        self._history, self.gate = out.history, out.gate
        self._force[:, self._dofs] += out.force

    def state(self, worlds: Ids) -> Floats:
        """(n, …) what it remembers; NaN where a world has just begun."""
        history = to_numpy(self._history)[worlds].reshape(len(worlds), -1)
        fresh = to_numpy(self._fresh)[worlds]
        return np.where(fresh[:, None], np.nan, history).astype(np.float64)

    def restore(self, state: Floats, worlds: Ids) -> None:
        """Puts back what `state` gave."""
        history, fresh = np.array(to_numpy(self._history)), to_numpy(self._fresh).copy()
        fresh[worlds] = np.isnan(state).any(axis=1)
        history[worlds] = np.nan_to_num(state).reshape(-1, *history.shape[1:])
        self._history = constant(history, self._history)
        self._fresh = constant(fresh, self._fresh)
        self._has_fresh = bool(fresh.any())

    @property
    def is_idle(self) -> bool:
        return self.residual.description.gain == 0.0

    def _signals(self) -> Array:
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
    signals: Sequence[Signal], position: Array, velocity: Array, goal: Array | None
) -> Array:
    """(rows, joints, signals) from (rows, joints) each."""
    xp = api.array_namespace(position)
    error = 0.0 * position if goal is None else goal - position
    known = {"position": position, "velocity": velocity, "error": error}
    return xp.stack([known[name] for name in signals], axis=-1)


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
