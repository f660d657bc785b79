"""What every experiment needs: commands of one joint within the robot's limits."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.deployment import play
from realworthy.errors import RealworthyError, UnknownName
from realworthy.recordings import Recording
from realworthy.robots import Limits, Robot, RobotInfo

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class JointBench:
    """What an experiment may do to a robot, and where what it measured goes."""

    limits: Limits | None = None
    """Beyond which a joint stops the experiment; by default the robot's own range of
    commands is all that bounds it. `find_limits(twin)` gives those of a twin."""
    output: Path | None = None
    """Recording that is on the disk while it is made, and stays whatever happens."""
    overwrite: bool = False


def drive_joint(
    robot: Robot,
    joint: str,
    values: Floats,
    kinds: tuple[str, ...],
    bench: JointBench | None = None,
) -> Recording:
    """Plays (steps,) commands of one joint; the others rest where they are measured.

    Refuses commands of another kind than `kinds`, and those beyond the robot's limits,
    before anything moves. A robot of position drives is led slowly to the first; guards
    raise `GuardStop`, with what was recorded.
    """
    bench = bench or JointBench()
    info = robot.info
    column = check_command(info, joint, values, kinds)
    position = read_positions(robot)
    still = np.zeros(len(info.commands))
    if info.command_kind == "position":
        for i, name in enumerate(info.commands):
            own = name.partition(".")[0]
            if own in info.joints:
                still[i] = position[info.joints.index(own)]
    commands = np.tile(still, (len(values), 1))
    commands[:, column] = values
    return play(
        robot,
        commands,
        rate=info.rate,
        limits=bench.limits,
        leads=info.command_kind == "position",
        output=bench.output,
        overwrite=bench.overwrite,
    )


def read_positions(robot: Robot) -> Floats:
    """(joints,) where the robot stands, braking."""
    with robot:
        return robot.read().position


def check_command(
    info: RobotInfo, joint: str, values: Floats, kinds: tuple[str, ...]
) -> int:
    """Column of the joint's command; raises where these commands cannot be sent."""
    check_drive(info, joint, kinds)
    name = f"{joint}.command"
    if name not in info.commands:
        owner = f"robot '{info.name}'"
        raise UnknownName("command", name, info.commands, owner=owner)
    column = info.commands.index(name)
    low, high = info.command_lower[column], info.command_upper[column]
    if values.min() < low or values.max() > high:
        raise RealworthyError(
            f"'{name}' would go from {values.min():.3g} to {values.max():.3g}; the "
            f"robot allows {low:.3g} to {high:.3g}.",
            hint="Choose a smaller span, another centre or weaker pulses.",
        )
    return column


def check_drive(info: RobotInfo, joint: str, kinds: tuple[str, ...]) -> None:
    """Raises where a robot lacks the joint, or takes commands of another kind."""
    if joint not in info.joints:
        owner = f"robot '{info.name}'"
        raise UnknownName("joint", joint, info.joints, owner=owner)
    if info.command_kind not in kinds:
        raise RealworthyError(
            f"This experiment sends {' or '.join(kinds)} commands; robot "
            f"'{info.name}' takes {info.command_kind or 'several kinds of'} commands.",
            hint="Switch its drive to that mode, or analyse a recording at hand.",
        )


def get_signal(recording: Recording, name: str) -> Floats:
    """A recorded signal; says which are there where it is missing."""
    if name not in recording.signals:
        raise UnknownName("signal", name, recording.signals, owner=recording.owner)
    return np.asarray(recording.signals[name], dtype=np.float64)
