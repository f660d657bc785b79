"""What kind of actuator MuJoCo's gain and bias make, and how strong it is."""

import mujoco
import numpy as np

_GAIN, _BIAS, _TRN = mujoco.mjtGain, mujoco.mjtBias, mujoco.mjtTrn
_ON_JOINT = {int(_TRN.mjTRN_JOINT), int(_TRN.mjTRN_JOINTINPARENT)}
_KINDS = {
    _GAIN.mjGAIN_DCMOTOR: "dcmotor",
    _GAIN.mjGAIN_PID: "pid",
    _GAIN.mjGAIN_MUSCLE: "muscle",
    _GAIN.mjGAIN_SO3: "orientation",
    _GAIN.mjGAIN_USER: "user",
}
_VOLTAGE_INPUT = 8  # bit of actuator_ctrlspec: a raw voltage is among the inputs


def actuator_kind(model: mujoco.MjModel, actuator: int) -> str:
    """The MJCF element that would give these gains, or `general`."""
    gain = mujoco.mjtGain(model.actuator_gaintype[actuator])
    bias = mujoco.mjtBias(model.actuator_biastype[actuator])
    if gain in _KINDS:
        return _KINDS[gain]
    if gain == _GAIN.mjGAIN_AFFINE:
        return "damper" if bias == _BIAS.mjBIAS_NONE else "general"
    if bias == _BIAS.mjBIAS_NONE:
        on_body = model.actuator_trntype[actuator] == _TRN.mjTRN_BODY
        return "adhesion" if on_body else "motor"
    if bias != _BIAS.mjBIAS_AFFINE:
        return "general"
    strength = model.actuator_gainprm[actuator, 0]
    offset, stiffness, damping = model.actuator_biasprm[actuator, :3]
    if offset == 0 and stiffness < 0 and np.isclose(strength, -stiffness):
        return "position"
    if (
        offset == 0
        and stiffness == 0
        and damping < 0
        and np.isclose(strength, -damping)
    ):
        return "velocity"
    return "general"


def gains(model: mujoco.MjModel, actuator: int) -> tuple[float | None, float | None]:
    """(kp, kd) at the actuator's side of its gear; None where it has no such gain."""
    if model.actuator_biastype[actuator] != _BIAS.mjBIAS_AFFINE:
        return None, None
    stiffness, damping = -model.actuator_biasprm[actuator, 1:3]
    kind = actuator_kind(model, actuator)
    kp = None if kind == "velocity" else float(stiffness)
    return kp, float(damping)


def driven_joint(model: mujoco.MjModel, actuator: int) -> int | None:
    """Number of the joint that the actuator pulls at, or None."""
    if int(model.actuator_trntype[actuator]) in _ON_JOINT:
        return int(model.actuator_trnid[actuator, 0])
    return None


def actuators_of(model: mujoco.MjModel, joint: int) -> list[int]:
    """Numbers of the actuators that drive a joint."""
    return [i for i in range(model.nactuator) if driven_joint(model, i) == joint]


def force_range(model: mujoco.MjModel, actuator: int) -> tuple[float, float] | None:
    """Stated limits of an actuator's force, before its gear."""
    if not model.actuator_forcelimited[actuator]:
        return None
    low, high = model.actuator_forcerange[actuator]
    return float(low), float(high)


def input_force_limit(model: mujoco.MjModel, actuator: int) -> float | None:
    """Most force at the joint that the control range alone allows at rest, or None.

    A motor gives gain times control; a voltage-driven DC motor gives its stall torque.
    """
    first = model.actuator_ctrladr[actuator]
    kind = actuator_kind(model, actuator)
    if model.actuator_ctrlnum[actuator] != 1 or not model.actuator_ctrllimited[first]:
        return None
    control = float(np.abs(model.actuator_ctrlrange[first]).max())
    gear = abs(float(model.actuator_gear[actuator, 0]))
    if kind == "motor":
        return control * gear * abs(float(model.actuator_gainprm[actuator, 0]))
    if is_voltage_driven(model, actuator):
        resistance, constant = model.actuator_gainprm[actuator, :2]
        return control * gear * float(constant / resistance)
    return None


def is_voltage_driven(model: mujoco.MjModel, actuator: int) -> bool:
    """Whether the actuator is a DC motor whose only input is its voltage."""
    kind = actuator_kind(model, actuator)
    return kind == "dcmotor" and model.actuator_ctrlspec[actuator] == _VOLTAGE_INPUT


def own_force_limit(model: mujoco.MjModel, actuator: int) -> float | None:
    """Most force at the joint that one actuator can give at rest; None: no limit."""
    limits = [input_force_limit(model, actuator)]
    stated = force_range(model, actuator)
    if stated is not None:
        gear = abs(float(model.actuator_gear[actuator, 0]))
        limits.append(max(abs(stated[0]), abs(stated[1])) * gear)
    return min((limit for limit in limits if limit is not None), default=None)


def joint_force_limit(model: mujoco.MjModel, joint: int) -> float | None:
    """Most force on a joint from all its actuators at rest.

    None where no limit is stated. A joint without actuators counts with its own stated
    limit: a URDF has efforts but no actuators.
    """
    of_joint: float | None = None
    if model.jnt_actfrclimited[joint]:
        of_joint = float(np.abs(model.jnt_actfrcrange[joint]).max())
    limits = [own_force_limit(model, i) for i in actuators_of(model, joint)]
    known = [limit for limit in limits if limit is not None]
    if not limits or len(known) < len(limits):
        return of_joint
    return min(sum(known), of_joint) if of_joint is not None else sum(known)


def reflected_armature(model: mujoco.MjModel, joint: int) -> float:
    """Inertia of the drives as the joint feels it: its armature and its actuators'."""
    armature = float(model.dof_armature[model.jnt_dofadr[joint]])
    for i in actuators_of(model, joint):
        gear = float(model.actuator_gear[i, 0])
        armature += float(model.actuator_armature[i]) * gear**2
    return armature
