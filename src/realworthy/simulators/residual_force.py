"""A residual inside MuJoCo's worlds: its force is added at every substep."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from realworthy.residuals import Residual, build_law
from realworthy.simulators.effects import SubstepEffect
from realworthy.simulators.residual_inputs import find_columns, stack_signals
from realworthy.twins import BoundTwin
from realworthy.twins.layout import Layout

if TYPE_CHECKING:
    from realworthy.simulators.mujoco_cpu import MujocoCpu

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
