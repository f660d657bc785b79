"""`record`: a motion played on a robot, within the limits of its twin."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from realworthy.deployment.drives import Drives, assign_drives
from realworthy.deployment.follow import Followed, follow
from realworthy.deployment.trial_files import check_recording_free
from realworthy.errors import RealworthyError
from realworthy.identification.excitation.twin_limits import find_limits, stand
from realworthy.realities.stand_in import find_twin
from realworthy.recordings import Sidecar
from realworthy.recordings.motion import Motion, Reference, load_motion
from realworthy.robots import Limits, Robot, RobotInfo
from realworthy.robots.address import open_robot
from realworthy.simulators.motion_plan import plan_motion
from realworthy.twins import BoundTwin, Twin, bind
from realworthy.twins.commands import describe_commands, find_gains

_BRAKING = 10.0
"""[1/s] deceleration with which a joint can brake, per its speed limit, where nobody
states one; also that of a design (`limits.tighten`)."""


def record(
    motion: Motion | Path | str,
    robot: Robot | str,
    twin: Twin | Path | str | None = None,
    *,
    rate: float | None = None,
    limits: Limits | None = None,
    sidecar: Sidecar | None = None,
    output: Path | str | None = None,
    overwrite: bool = False,
) -> Followed:
    """Leads the robot to the motion's beginning, plays it, and says if it was stopped.

    A `robot` is one, or its address; `twin` is by default the one that it names.
    `limits` are the twin's by default: commands are kept within them, and positions,
    speeds and torques beyond them stop the robot. A motion that asks for more is
    refused before anything moves. With `output` the recording is on the disk while it
    is made, and in that file when this returns or raises.
    """
    output = None if output is None else Path(output)
    if output is not None:
        check_recording_free(output, overwrite=overwrite)
    motion, robot = load_motion(motion), open_robot(robot)
    return record_motion(
        robot,
        motion,
        find_twin(robot, twin),
        rate=rate,
        limits=limits,
        sidecar=sidecar,
        output=output,
        overwrite=overwrite,
    )


def record_motion(
    robot: Robot,
    motion: Motion,
    twin: Twin,
    *,
    rate: float | None = None,
    limits: Limits | None = None,
    sidecar: Sidecar | None = None,
    output: Path | None = None,
    overwrite: bool = False,
) -> Followed:
    """`record` with a robot, a motion and a twin that are at hand already."""
    twin = stand(twin)
    limits = find_limits(twin) if limits is None else limits
    reference = motion.sample(robot.info.rate if rate is None else rate)
    bound = bind(twin)
    plan = plan_motion(bound, reference)
    check_motion(reference, limits)
    return follow(
        robot,
        plan,
        describe_drives(bound, robot.info, limits),
        limits,
        sidecar=sidecar,
        output=output,
        overwrite=overwrite,
    )


def describe_drives(bound: BoundTwin, info: RobotInfo, limits: Limits) -> Drives:
    """What bounds commands to a robot, by its twin: limits and gains of each joint."""
    lines = describe_commands(bound)
    gains = {line.joint: find_gains(bound.twin, line) for line in lines if line.joint}
    known = {joint: both for joint, both in gains.items() if both is not None}
    braking = np.where(
        np.isfinite(limits.acceleration), limits.acceleration, _BRAKING * limits.speed
    )
    return assign_drives(
        info,
        [line.joint if line.joint in info.joints else "" for line in lines],
        [line.kind for line in lines],
        replace(limits, acceleration=braking),
        kp={joint: kp for joint, (kp, _) in known.items()},
        kd={joint: kd for joint, (_, kd) in known.items()},
        rest={
            line.signal: float(value)
            for line, value in zip(
                lines, bound.compiled.own["own.initial_ctrl"], strict=True
            )
            if line.kind == "position"
        },
    )


def check_motion(reference: Reference, limits: Limits) -> None:
    """Raises where a motion itself asks for more than the limits allow."""
    own = limits.select(reference.joints)
    excess = own.find_excess(reference.position, reference.velocity)
    if excess:
        raise RealworthyError(
            f"This motion is not safe: {excess}.",
            hint="Design one for this twin: realworthy excite TWIN",
        )
