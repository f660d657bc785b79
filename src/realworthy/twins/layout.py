"""Where joints, actuators and sensors of a compiled twin are found in its arrays."""

from functools import cached_property
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.actuators import Actuator, MotorDc, MotorTorqueSpeed
from realworthy.errors import UnknownName
from realworthy.twins.bind import BoundTwin
from realworthy.twins.compiled_model import find_object_bodies, object_names
from realworthy.twins.structure import flex_joint, play_joint
from realworthy.twins.writers.actuators import is_dc_motor
from realworthy.twins.writers.joints import single_joints

_JOINT, _ACTUATOR = mujoco.mjtObj.mjOBJ_JOINT, mujoco.mjtObj.mjOBJ_ACTUATOR
Ids = NDArray[np.intp]
Floats = NDArray[np.float64]
Measured = Literal["gyro", "acceleration", "orientation"]
_SENSORS = {
    "gyro": mujoco.mjtSensor.mjSENS_GYRO,
    "acceleration": mujoco.mjtSensor.mjSENS_ACCELEROMETER,
    "orientation": mujoco.mjtSensor.mjSENS_FRAMEQUAT,
}


class Layout:
    """Addresses in `qpos`, `qvel`, `ctrl`, actuator and sensor arrays, by name."""

    def __init__(self, bound: BoundTwin) -> None:
        self.bound = bound
        self.joints = single_joints(bound.compiled)
        self.actuators = object_names(bound.model, _ACTUATOR)
        self.bodies = object_names(bound.model, mujoco.mjtObj.mjOBJ_BODY)[1:]
        """All but the world."""

    def joint(self, name: str) -> tuple[int, int]:
        """Place in `qpos` and in `qvel` of a hinge or slide."""
        self._check(name, self.joints, "joint")
        i = self.bound.compiled.id(_JOINT, name)
        return int(self.bound.model.jnt_qposadr[i]), int(self.bound.model.jnt_dofadr[i])

    def link(self, joint: str) -> tuple[list[int], list[int]]:
        """Places in `qpos` and `qvel` that add up to the angle of a joint's link."""
        parts = (joint, play_joint(joint), flex_joint(joint))
        joints = [self.joint(part) for part in parts if part in self.joints]
        return [q for q, _ in joints], [dof for _, dof in joints]

    def actuator(self, joint: str) -> int:
        """The (first) actuator that drives a joint."""
        self._check(joint, self.joints, "joint")
        self._check(joint, self.driven_joints, "driven joint")
        i = self.bound.compiled.id(_JOINT, joint)
        return int(np.flatnonzero(self._driven == i)[0])

    @cached_property
    def driven_joints(self) -> tuple[str, ...]:
        """Hinges and slides that an actuator drives, in the order of the joints."""
        driven = {int(i) for i in self._driven}
        ids = {name: self.bound.compiled.id(_JOINT, name) for name in self.joints}
        return tuple(name for name in self.joints if ids[name] in driven)

    def joint_ranges(self) -> dict[str, tuple[float, float]]:
        """Joint → its ends [rad or m]; ±inf where it has none."""
        model, ranges = self.bound.model, {}
        for name in self.joints:
            i = self.bound.compiled.id(_JOINT, name)
            low, high = model.jnt_range[i].tolist()
            ranges[name] = (low, high) if model.jnt_limited[i] else (-np.inf, np.inf)
        return ranges

    @cached_property
    def driven_dofs(self) -> Ids:
        """Places in `qvel` of joints that an actuator drives."""
        return np.array([self.joint(name)[1] for name in self.driven_joints], np.intp)

    @cached_property
    def base(self) -> tuple[int, int] | None:
        """Where the robot's floating base begins in `qpos` and `qvel`; None: fixed."""
        base, model = self.bound.twin.base, self.bound.model
        if base is None:
            return None
        joint = model.joint(base.joint).id
        return int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])

    @cached_property
    def robot_dofs(self) -> Ids:
        """Places in `qvel` of the robot: all but those of objects."""
        objects = find_object_bodies(self.bound.compiled)
        model = self.bound.model
        owners = [model.body(int(body)).name for body in model.dof_bodyid]
        return _where([name not in objects for name in owners])

    @cached_property
    def inertias(self) -> Floats:
        """(dofs,) [kg·m²] seen from each joint in the zero pose, the others free."""
        return 1.0 / self.bound.model.dof_invweight0

    @cached_property
    def gears(self) -> Floats:
        """(actuators,) torque on the joint per force of the actuator."""
        return np.where(self._driven >= 0, self.bound.model.actuator_gear[:, 0], 1.0)

    @cached_property
    def torque_gains(self) -> Floats:
        """(actuators,) torque on the joint per command, where that is a torque."""
        gains = np.where(
            self.bound.model.actuator_gaintype == mujoco.mjtGain.mjGAIN_FIXED,
            self.bound.model.actuator_gainprm[:, 0],
            1.0,
        )
        return self.gears * gains

    @cached_property
    def torque_limits(self) -> Floats:
        """(actuators,) largest torque [N·m] on the joint; inf where none is stated."""
        model = self.bound.model
        limits = np.full(model.nactuator, np.inf)
        for i in range(model.nactuator):
            if model.actuator_forcelimited[i]:
                force = np.abs(model.actuator_forcerange[i]).max()
                limits[i] = abs(self.gears[i]) * force
            joint = int(self._driven[i])
            if joint >= 0 and model.jnt_actfrclimited[joint]:
                of_joint = np.abs(model.jnt_actfrcrange[joint]).max()
                limits[i] = min(limits[i], of_joint)
            first = int(model.actuator_ctrladr[i])
            if i in self.voltage_actuators and model.actuator_ctrllimited[first]:
                resistance, constant = model.actuator_gainprm[i, :2]
                volts = np.abs(model.actuator_ctrlrange[first]).max()
                stall = abs(self.gears[i]) * constant * volts / resistance
                limits[i] = min(limits[i], stall)
        for drive in self.bound.drives:
            i = self.actuators.index(drive.name)
            limits[i] = min(limits[i], _largest_torque(drive.law.actuator))
        return limits

    @cached_property
    def explicit_actuators(self) -> Ids:
        """Actuators whose torque a law computes."""
        names = {drive.name for drive in self.bound.drives}
        return _where([name in names for name in self.actuators])

    @cached_property
    def voltage_actuators(self) -> Ids:
        """Native DC motors that are commanded a voltage."""
        model = self.bound.model
        volts = int(mujoco.mjtCtrlInput.mjINPUT_VOLTAGE)
        return _where(
            [
                is_dc_motor(model, i) and model.actuator_ctrlspec[i] == volts
                for i in range(model.nactuator)
            ]
        )

    @cached_property
    def dc_actuators(self) -> Ids:
        """Native DC motors, whatever they are commanded."""
        model = self.bound.model
        return _where([is_dc_motor(model, i) for i in range(model.nactuator)])

    @cached_property
    def servo_actuators(self) -> Ids:
        """Native motors and servos: force = gain · command + bias, both scalable."""
        others = {*self.explicit_actuators.tolist(), *self.dc_actuators.tolist()}
        return _where([i not in others for i in range(self.bound.model.nactuator)])

    @cached_property
    def limited_servos(self) -> tuple[Ids, Ids]:
        """Native motors and servos that their joint limits, and those joints."""
        servos = self.servo_actuators[self._driven[self.servo_actuators] >= 0]
        limited = self.bound.model.jnt_actfrclimited[self._driven[servos]].astype(bool)
        return servos[limited], self._driven[servos[limited]]

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

    def sensors(self, measured: Measured) -> list[Ids]:
        """Columns of `sensordata` of every sensor that measures this."""
        model = self.bound.model
        sensors = np.flatnonzero(model.sensor_type == int(_SENSORS[measured]))
        widths = model.sensor_dim[sensors]
        firsts = model.sensor_adr[sensors]
        return [
            np.arange(f, f + w, dtype=np.intp)
            for f, w in zip(firsts.tolist(), widths.tolist(), strict=True)
        ]

    @cached_property
    def _driven(self) -> Ids:
        """(actuators,) number of the joint that each drives, −1 for none."""
        model = self.bound.model
        on_joint = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
        return np.where(on_joint, model.actuator_trnid[:, 0], -1).astype(np.intp)

    def _controls(self, actuators: Ids) -> Ids:
        return self.bound.model.actuator_ctrladr[actuators].astype(np.intp)

    def _check(self, name: str, existing: tuple[str, ...], what: str) -> None:
        if name not in existing:
            owner = f"twin '{self.bound.twin.name}'"
            raise UnknownName(what, name, existing, owner=owner, hint="")


def _largest_torque(actuator: Actuator) -> float:
    """[N·m] on the joint that a described actuator can give; inf if unlimited."""
    motor, gear = actuator.motor, actuator.gear
    limits = [np.inf, actuator.torque_limit, actuator.soft_saturation]
    if isinstance(motor, MotorTorqueSpeed):
        limits.append(actuator.strength * gear * motor.stall_torque)
    if isinstance(motor, MotorDc):
        current = motor.supply_voltage / motor.resistance
        current = min(current, motor.current_limit or np.inf)
        bent = 1.0 + current / (motor.saturation_current or np.inf)
        torque = motor.torque_constant * current / bent
        limits.append(actuator.strength * gear * torque)
    return min(limit for limit in limits if limit is not None)


def _where(chosen: list[bool]) -> Ids:
    return np.flatnonzero(np.array(chosen, dtype=bool))
