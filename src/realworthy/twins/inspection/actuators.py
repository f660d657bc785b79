"""Checks of actuators: names, limits, gains that a timestep can carry."""

import mujoco
import numpy as np

from realworthy.twins.inspection.actuation import (
    actuator_kind,
    driven_joint,
    force_range,
    gains,
    input_force_limit,
    joint_force_limit,
    own_force_limit,
    reflected_armature,
)
from realworthy.twins.inspection.findings import ModelFinding, group
from realworthy.twins.inspection.names import actuator_name, is_named, joint_name
from realworthy.twins.inspection.pose import Posed

_HINGE = int(mujoco.mjtJoint.mjJNT_HINGE)
_LIMIT_TOLERANCE = 0.05
"""Relative difference from which two stated limits contradict each other."""
_MAX_STABLE_GAIN = 1.0
"""Of kp·dt²/I and kd·dt/I. Explicit damping diverges from kd·dt/I = 2, a semi-implicit
spring from kp·dt²/I = 4; half of the nearer one is safe."""
_BANG_BANG = 0.005  # [rad] error at which a position servo may first be at full force
_SERVOS = ("position", "velocity", "pid", "general")
_EXPLICIT_DAMPING = {
    int(mujoco.mjtIntegrator.mjINT_EULER),
    int(mujoco.mjtIntegrator.mjINT_RK4),
}


def inspect_actuators(posed: Posed) -> list[ModelFinding]:
    """Findings about every actuator of a posed model."""
    model = posed.model
    return [
        *_inspect_names(model),
        *_inspect_limits(model),
        *_inspect_command_range(model),
        *_inspect_force_ranges(model),
        *_inspect_delays(model),
        *_inspect_steadiness(posed),
        *_inspect_armature(model),
        *_inspect_stiffness(model),
    ]


def _inspect_names(model: mujoco.MjModel) -> list[ModelFinding]:
    details = {
        actuator_name(model, i): ""
        for i in range(model.nactuator)
        if not is_named(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i)
    }
    return group(
        "unnamed_actuator",
        "warning",
        details,
        "no name, so no command can be addressed to it",
        hint='Add name="…" to the actuator.',
    )


def _inspect_limits(model: mujoco.MjModel) -> list[ModelFinding]:
    any_command: dict[str, str] = {}
    any_force: dict[str, str] = {}
    for i in range(model.nactuator):
        first, count = model.actuator_ctrladr[i], model.actuator_ctrlnum[i]
        joint = driven_joint(model, i)
        if not model.actuator_ctrllimited[first : first + count].all():
            any_command[actuator_name(model, i)] = ""
        by_joint = joint is not None and bool(model.jnt_actfrclimited[joint])
        servo = actuator_kind(model, i) in _SERVOS
        if servo and not by_joint and own_force_limit(model, i) is None:
            any_force[actuator_name(model, i)] = ""
    return [
        *group(
            "no_command_limit",
            "warning",
            any_command,
            "takes any command",
            hint='State ctrlrange, or inheritrange="1" on a position actuator.',
        ),
        *group(
            "no_force_limit",
            "warning",
            any_force,
            "servo that can push without limit; a real one saturates",
            hint="State forcerange, or actuatorfrcrange on the joint.",
        ),
    ]


def _inspect_command_range(model: mujoco.MjModel) -> list[ModelFinding]:
    details: dict[str, str] = {}
    for i in range(model.nactuator):
        joint, first = driven_joint(model, i), model.actuator_ctrladr[i]
        if actuator_kind(model, i) != "position" or joint is None:
            continue
        if not (model.actuator_ctrllimited[first] and model.jnt_limited[joint]):
            continue
        low, high = np.sort(model.jnt_range[joint] * model.actuator_gear[i, 0])
        below, above = model.actuator_ctrlrange[first]
        if max(low - below, above - high) > 0.01 * (high - low):
            details[actuator_name(model, i)] = (
                f"{below:.4g} to {above:.4g}, joint {low:.4g} to {high:.4g}"
            )
    return group(
        "command_outside_range",
        "warning",
        details,
        "accepts positions that the joint cannot reach",
        hint="A command there presses against the end stop with full force.",
    )


def _inspect_force_ranges(model: mujoco.MjModel) -> list[ModelFinding]:
    with_joint: dict[str, str] = {}
    with_input: dict[str, str] = {}
    for i in range(model.nactuator):
        joint, stated = driven_joint(model, i), force_range(model, i)
        gear = abs(float(model.actuator_gear[i, 0]))
        own = None if stated is None else gear * max(abs(bound) for bound in stated)
        by_input = input_force_limit(model, i)
        if (
            own is not None
            and by_input is not None
            and by_input > own * (1 + _LIMIT_TOLERANCE)
        ):
            with_input[actuator_name(model, i)] = f"{by_input:.4g} against {own:.4g}"
        if joint is None or not model.jnt_actfrclimited[joint]:
            continue
        of_joint = float(np.abs(model.jnt_actfrcrange[joint]).max())
        strength = own if own is not None else by_input
        if (
            strength is not None
            and abs(strength - of_joint) > _LIMIT_TOLERANCE * of_joint
        ):
            with_joint[actuator_name(model, i)] = (
                f"{strength:.4g} against {of_joint:.4g}"
            )
    return [
        *group(
            "force_limits_differ",
            "warning",
            with_joint,
            "force limits of the actuator and of its joint (actuatorfrcrange) differ, "
            "and the smaller one wins",
            hint="Keep one of them, the one that the datasheet states.",
        ),
        *group(
            "command_beyond_force",
            "note",
            with_input,
            "commands beyond the force limit are cut",
            hint="Let ctrlrange end where forcerange does.",
        ),
    ]


def _inspect_delays(model: mujoco.MjModel) -> list[ModelFinding]:
    details: dict[str, str] = {}
    for i in range(model.nactuator):
        delay = float(model.actuator_delay[i])
        remembered = float(model.actuator_history[i, 0]) * model.opt.timestep
        if delay > remembered + 1e-9:
            details[actuator_name(model, i)] = (
                f"{delay:.4g} s of {remembered:.4g} s kept"
            )
    return group(
        "delay_cut",
        "error",
        details,
        "delay is longer than the commands it keeps, and MuJoCo cuts it silently",
        hint="Raise nsample to delay / timestep or more.",
    )


def _inspect_steadiness(posed: Posed) -> list[ModelFinding]:
    """Gains against inertia and timestep.

    One step of the semi-implicit Euler method multiplies an error by about
    1 - kp·dt²/(I + b·dt), where b is the damping that the integrator takes implicitly:
    with `implicitfast` all of it, with `Euler` that of the joint but not of the servo.
    """
    model, timestep = posed.model, float(posed.model.opt.timestep)
    implicit = int(model.opt.integrator) not in _EXPLICIT_DAMPING
    details: dict[str, str] = {}
    for i in range(model.nactuator):
        joint, (kp, kd) = driven_joint(model, i), gains(model, i)
        if joint is None:
            continue
        dof, gear = model.jnt_dofadr[joint], float(model.actuator_gear[i, 0])
        stiffness, damping = (kp or 0.0) * gear**2, (kd or 0.0) * gear**2
        carried = float(model.dof_damping[dof]) + (damping if implicit else 0.0)
        inertia = float(posed.apparent_inertia[dof]) + carried * timestep
        numbers = {"kp·dt²/I": stiffness * timestep**2 / inertia}
        if not implicit:
            numbers["kd·dt/I"] = damping * timestep / inertia
        shown = [
            f"{k} {number:.2g}"
            for k, number in numbers.items()
            if number > _MAX_STABLE_GAIN
        ]
        if shown:
            details[actuator_name(model, i)] = ", ".join(shown)
    return group(
        "stiff_gains",
        "warning",
        details,
        "gains too stiff for timestep and inertia; the simulation rings or diverges",
        hint='Shorten the timestep, add armature, or use integrator="implicitfast".',
    )


def _inspect_armature(model: mujoco.MjModel) -> list[ModelFinding]:
    details: dict[str, str] = {}
    for i in range(model.nactuator):
        joint = driven_joint(model, i)
        servo = actuator_kind(model, i) in ("position", "velocity", "pid")
        if servo and joint is not None and reflected_armature(model, joint) == 0:
            details[joint_name(model, joint)] = ""
    return group(
        "no_armature",
        "note",
        details,
        "driven by a servo but without armature",
        hint="A geared motor adds gear² times its rotor's inertia, often more than the "
        "link's own; without it stiff gains are unsteady and motions too quick.",
    )


def _inspect_stiffness(model: mujoco.MjModel) -> list[ModelFinding]:
    """Position servos so stiff that they are either at full force or at the goal."""
    details: dict[str, str] = {}
    for i in range(model.nactuator):
        joint, kp = driven_joint(model, i), gains(model, i)[0]
        if actuator_kind(model, i) != "position" or not kp or joint is None:
            continue
        limit = joint_force_limit(model, joint)
        if limit is None or model.jnt_type[joint] != _HINGE:
            continue
        error = limit / kp / float(model.actuator_gear[i, 0]) ** 2
        if error < _BANG_BANG:
            details[actuator_name(model, i)] = (
                f"{kp:.4g} N·m/rad is at its limit after {error:.2g} rad"
            )
    return group(
        "bang_bang_gain",
        "warning",
        details,
        "position gain so high that the servo is a switch",
        hint="Hold a known load and divide its torque by the position error: that is "
        "the gain. Servos' own units are not N·m/rad.",
    )
