"""A residual inside MuJoCo's worlds: its force is added at every substep."""

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.networks.missing import find_columns, stack_signals
from realworthy.residuals import Residual, build_law
from realworthy.simulators import MujocoCpu, SubstepEffect
from realworthy.twins import BoundTwin
from realworthy.twins.layout import Layout


class ResidualForce(SubstepEffect):
    """Sets the applied forces of a residual's joints; others keep theirs.

    After a reset the history is filled with the present, as if it had lasted.
    """

    def __init__(self, residual: Residual, bound: BoundTwin) -> None:
        self.residual = residual
        described, layout = residual.description, Layout(bound)
        places = [layout.joint(joint) for joint in described.joints]
        self._qpos = [q for q, _ in places]
        self._dofs = [dof for _, dof in places]
        self._columns = find_columns(bound, described)

    def start(self, simulator: MujocoCpu) -> None:
        self._arrays = [simulator.array(name) for name in ("qpos", "qvel", "ctrl")]
        self._force = simulator.array("qfrc_applied")
        self._law = build_law(self.residual, timestep=simulator.timestep)
        self._fresh = np.ones(simulator.world_count, dtype=bool)
        self._history = self._law.start(self._signals())
        self.gate = np.ones((simulator.world_count, len(self._dofs)))
        """(worlds, joints) share of the force that was believed in the last substep."""

    def reset(self, worlds: NDArray[np.intp]) -> None:
        self._fresh[worlds] = True
        self._force[worlds[:, None], self._dofs] = 0.0

    def act(self) -> None:
        signals = self._signals()
        if self._fresh.any():
            self._history[self._fresh] = self._law.start(signals[self._fresh])
            self._fresh[:] = False
        out = self._law.step(signals, self._history)
        self._history, self.gate = out.history, out.gate
        self._force[:, self._dofs] = out.force

    @property
    def is_idle(self) -> bool:
        return self.residual.description.gain == 0.0

    def _signals(self) -> NDArray[np.float64]:
        qpos, qvel, ctrl = self._arrays
        return stack_signals(
            self.residual.description.signals,
            qpos[:, self._qpos],
            qvel[:, self._dofs],
            ctrl[:, self._columns] if self._columns else None,
        )
