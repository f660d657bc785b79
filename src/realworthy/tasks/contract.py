"""What a policy of a task expects of a robot, as far as the task knows."""

import numpy as np

from realworthy.errors import RealworthyError
from realworthy.policies.contract import (
    Contract,
    Conventions,
    Delays,
    DriveGains,
    ImageInput,
    InputRange,
    JointLimits,
    Spread,
    TwinReference,
)
from realworthy.recordings.sidecar import CommandKind
from realworthy.tasks.environment.environment import Purpose
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.twins import commands
from realworthy.twins.commands import CommandLine, describe_commands, find_owner
from realworthy.twins.layout import Layout


def build_contract(worlds: TaskWorlds) -> Contract:
    """The contract of policies that learn in these worlds; the rest is export's."""
    task, bound = worlds.task, worlds.bound
    lines = {line.signal: line for line in describe_commands(bound)}
    moved = [lines[name] for name in task.action.commands]
    kinds: set[CommandKind] = {line.kind for line in moved}
    still = [x for x in lines.values() if x not in moved]
    joints = _list_joints(worlds, [*moved, *still])
    if len(kinds) > 1:
        names = ", ".join(sorted(kinds))
        raise RealworthyError(f"Task '{task.name}' has commands of kinds {names}.")
    deployable = [x for x in task.groups if x.purpose is Purpose.DEPLOYABLE]
    late = tuple(steps * worlds.period for steps in worlds.randomization.latency)
    return Contract(
        task=task.name,
        task_file=None if task.definition is None else task.definition.file,
        task_settings={} if task.definition is None else {**task.definition.settings},
        twin=TwinReference(name=task.twin.name, reference=task.twin.reference),
        joints=joints,
        terms=task.terms,
        action=task.action,
        history_layout="term_major_oldest_first",
        period=worlds.period,
        substeps=worlds.simulator.substeps,
        command_kind=kinds.pop(),
        gains=_list_resting_gains(worlds, still) | _list_gains(worlds, moved),
        roles=task.twin.role_choices,
        drives={
            x.signal: x.joint for x in moved if x.joint and x.joint != find_owner(x)
        },
        resting=_list_resting(worlds, still),
        limits=_list_limits(worlds, joints),
        inputs={
            one.name: InputRange(
                lower=one.lower, upper=one.upper, default=one.default, unit=one.unit
            )
            for one in task.inputs
        },
        delays=Delays(observation=(late[0], late[1]), action=_find_delays(worlds)),
        conventions=Conventions(
            quaternion="wxyz",
            gyro_frame="base",
            gravity="down",
            action_feedback="used",
        ),
        images={
            group.name: ImageInput(
                channels=group.shape[0],
                height=group.shape[1],
                width=group.shape[2],
                lower=group.lower,
                upper=group.upper,
                camera=group.camera or group.name,
            )
            for group in deployable
            if group.describe().is_image
        },
        arrays={x.name: x.shape for x in deployable if not x.describe().is_image},
        envelope=describe_envelope(worlds),
    )


def list_measured(worlds: TaskWorlds) -> tuple[str, ...]:
    """Signals that a robot with this twin's sensors measures, by the task's word."""
    lacks = worlds.task.unmeasured
    return tuple(
        name
        for name in worlds.simulator.signals
        if name not in lacks and name.rpartition(".")[0] not in lacks
    )


def _list_joints(worlds: TaskWorlds, moved: list[CommandLine]) -> tuple[str, ...]:
    """That the policy reads or moves, in the order of the twin."""
    read = {name.rpartition(".")[0] for t in worlds.task.terms for name in t.signals}
    driven = {line.joint for line in moved}
    layout = Layout(worlds.bound)
    return tuple(joint for joint in layout.joints if joint in read | driven)


def _find_gains(worlds: TaskWorlds, line: CommandLine) -> DriveGains | None:
    """Nominal ones of a position drive; None where the twin has none."""
    gains = commands.find_gains(worlds.task.twin, line)
    return None if gains is None else DriveGains(kp=gains[0], kd=gains[1])


def _list_gains(worlds: TaskWorlds, moved: list[CommandLine]) -> dict[str, DriveGains]:
    by_owner = {find_owner(x): _find_gains(worlds, x) for x in moved}
    return {owner: gains for owner, gains in by_owner.items() if gains is not None}


def _list_resting_gains(
    worlds: TaskWorlds, still: list[CommandLine]
) -> dict[str, DriveGains]:
    """Of drives that rest: the twin's, or those that a native actuator has.

    A gripper's servo may scale its command, so that its kp is no factor of that.
    """
    model, resting = worlds.bound.model, {}
    for line in still:
        gains = _find_gains(worlds, line)
        if gains is None:
            actuator = model.actuator(find_owner(line)).id
            kp, kd = (-float(x) for x in model.actuator_biasprm[actuator, 1:3])
            gains = DriveGains(kp=max(kp, 0.0), kd=max(kd, 0.0))
        resting[find_owner(line)] = gains
    return resting


def _list_resting(worlds: TaskWorlds, still: list[CommandLine]) -> dict[str, float]:
    """Where the task leaves commands that it does not move."""
    names = worlds.simulator.commands
    home = worlds.bound.compiled.nominal("own.initial_ctrl")
    return {line.signal: float(home[names.index(line.signal)]) for line in still}


def _list_limits(worlds: TaskWorlds, joints: tuple[str, ...]) -> dict[str, JointLimits]:
    layout, limits = Layout(worlds.bound), {}
    for joint, (lower, upper) in layout.joint_ranges().items():
        if joint not in joints:
            continue
        effort = np.inf
        if joint in layout.driven_joints:
            effort = float(layout.torque_limits[layout.actuator(joint)])
        sheet = worlds.task.twin.datasheet.get(joint)
        speed = None if sheet is None else sheet.speed_limit
        limits[joint] = JointLimits(
            lower=None if np.isinf(lower) else float(lower),
            upper=None if np.isinf(upper) else float(upper),
            velocity=speed,
            effort=None if np.isinf(effort) else effort,
        )
    return limits


def _find_delays(worlds: TaskWorlds) -> tuple[float, float]:
    """[s] least and most of the commands' delay that training drew."""
    space = worlds.task.twin.space
    nominal = space["all.delay"].nominal if "all.delay" in space else 0.0
    spread = describe_envelope(worlds).get("all.delay")
    return (nominal, nominal) if spread is None else (spread.lower, spread.upper)


def describe_envelope(worlds: TaskWorlds) -> dict[str, Spread]:
    """Quantiles of what the belief draws, by 4,096 samples."""
    belief = worlds.randomization.belief
    if belief is None:
        return {}
    samples = belief.sample(4096, seed=0)
    low, five, half, most, high = np.quantile(samples, (0, 0.05, 0.5, 0.95, 1), axis=0)
    return {
        name: Spread(
            lower=float(low[i]),
            upper=float(high[i]),
            quantiles=(float(five[i]), float(half[i]), float(most[i])),
        )
        for i, name in enumerate(belief.space.names)
    }
