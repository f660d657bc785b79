"""`record`: a motion played on a robot, within the limits of its twin."""

from realworthy.errors import RealworthyError
from realworthy.identification.excitation.limits import find_limits, stand
from realworthy.recordings import Sidecar
from realworthy.recordings.motion import Motion, Reference
from realworthy.robots.follow import Followed, follow
from realworthy.robots.guard import Limits
from realworthy.robots.robot import Robot
from realworthy.simulators.plan import plan_motion
from realworthy.twins import Twin, bind


def record_motion(
    robot: Robot,
    motion: Motion,
    twin: Twin,
    *,
    rate: float | None = None,
    limits: Limits | None = None,
    sidecar: Sidecar | None = None,
) -> Followed:
    """Leads the robot to the motion's beginning, plays it, and says if it was stopped.

    `limits` are the twin's by default: positions, speeds and torques beyond them stop
    the robot. A motion that asks for more is refused before anything moves.
    """
    twin = stand(twin)
    limits = find_limits(twin) if limits is None else limits
    reference = motion.sample(robot.info.rate if rate is None else rate)
    plan = plan_motion(bind(twin), reference)
    check_motion(reference, limits)
    return follow(robot, plan, limits, sidecar=sidecar)


def check_motion(reference: Reference, limits: Limits) -> None:
    """Raises where a motion itself asks for more than the limits allow."""
    own = limits.select(reference.joints)
    excess = own.find_excess(reference.position, reference.velocity)
    if excess:
        raise RealworthyError(
            f"This motion is not safe: {excess}.",
            hint="Design one for this twin: realworthy excite TWIN",
        )
