"""Where joints and actuators of a compiled twin are found in its arrays."""

from functools import cached_property

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import UnknownName
from realworthy.twins.bind import BoundTwin
from realworthy.twins.compiled import object_names
from realworthy.twins.writers.actuators import is_dc_motor
from realworthy.twins.writers.joints import single_joints

_JOINT, _ACTUATOR = mujoco.mjtObj.mjOBJ_JOINT, mujoco.mjtObj.mjOBJ_ACTUATOR
Ids = NDArray[np.intp]


class Layout:
    """Addresses in `qpos`, `qvel`, `ctrl` and actuator arrays, by name."""

    def __init__(self, bound: BoundTwin) -> None:
        self.bound = bound
        self.joints = single_joints(bound.compiled)
        self.actuators = object_names(bound.model, _ACTUATOR)

    def joint(self, name: str) -> tuple[int, int]:
        """Place in `qpos` and in `qvel` of a hinge or slide."""
        if name not in self.joints:
            owner = f"twin '{self.bound.twin.name}'"
            raise UnknownName("joint", name, self.joints, owner=owner, hint="")
        i = self.bound.compiled.id(_JOINT, name)
        return int(self.bound.model.jnt_qposadr[i]), int(self.bound.model.jnt_dofadr[i])

    def actuator(self, joint: str) -> int:
        """The actuator that drives a joint."""
        model = self.bound.model
        self.joint(joint)
        i = self.bound.compiled.id(_JOINT, joint)
        driven = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
        found = np.flatnonzero(driven & (model.actuator_trnid[:, 0] == i))
        if not len(found):
            names = [j for j in self.joints if j in self.actuators]
            raise UnknownName(
                "driven joint",
                joint,
                names,
                owner=f"twin '{self.bound.twin.name}'",
                hint="",
            )
        return int(found[0])

    @cached_property
    def driven_dofs(self) -> Ids:
        """Places in `qvel` of joints that an actuator drives."""
        model = self.bound.model
        joints = model.actuator_trnid[
            model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT, 0
        ]
        return np.unique(model.jnt_dofadr[joints]).astype(np.intp)

    @cached_property
    def torque_limits(self) -> NDArray[np.float64]:
        """(actuators,) largest torque [N·m]; 1 where a model states none."""
        model = self.bound.model
        limits = np.where(
            model.actuator_forcelimited.astype(bool),
            np.abs(model.actuator_forcerange).max(1),
            0.0,
        )
        on_joint = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
        joint = np.where(on_joint, model.actuator_trnid[:, 0], 0)
        of_joint = np.where(
            on_joint & model.jnt_actfrclimited[joint].astype(bool),
            np.abs(model.jnt_actfrcrange[joint]).max(1),
            0.0,
        )
        limits = np.where(limits > 0, limits, of_joint)
        return np.where(limits > 0, limits, 1.0)

    @cached_property
    def explicit_actuators(self) -> Ids:
        """Actuators whose torque a law computes."""
        names = {drive.name for drive in self.bound.drives}
        return self._where([name in names for name in self.actuators])

    @cached_property
    def voltage_actuators(self) -> Ids:
        """Native DC motors, which are weakened through their voltage."""
        count = self.bound.model.nactuator
        return self._where([is_dc_motor(self.bound.model, i) for i in range(count)])

    @cached_property
    def servo_actuators(self) -> Ids:
        """Native motors and servos, which are weakened through their gains."""
        others = {*self.explicit_actuators.tolist(), *self.voltage_actuators.tolist()}
        return self._where([i not in others for i in range(self.bound.model.nactuator)])

    @property
    def explicit_controls(self) -> Ids:
        return self._controls(self.explicit_actuators)

    @property
    def voltage_controls(self) -> Ids:
        return self._controls(self.voltage_actuators)

    @cached_property
    def explicit_dofs(self) -> Ids:
        """Places in `qvel` whose friction a law writes at every substep."""
        drives = [d for d in self.bound.drives if d.law.actuator.friction is not None]
        return np.array([self.joint(d.joint)[1] for d in drives], dtype=np.intp)

    def _controls(self, actuators: Ids) -> Ids:
        return self.bound.model.actuator_ctrladr[actuators].astype(np.intp)

    def _where(self, chosen: list[bool]) -> Ids:
        return np.flatnonzero(np.array(chosen, dtype=bool))
