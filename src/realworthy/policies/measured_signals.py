"""What a robot measures, and whether that is enough for a policy."""

from collections.abc import Collection, Sequence

from realworthy.errors import RealworthyError
from realworthy.policies.terms import Term, list_signals
from realworthy.robots import RobotInfo

_OF_JOINTS = ("position", "velocity", "torque")
"""What `State` has of every joint, in the order of `list_measured`."""


def list_measured(info: RobotInfo) -> tuple[str, ...]:
    """Signals of a robot's `State`: all positions, velocities, torques, the others."""
    joints = [f"{joint}.{kind}" for kind in _OF_JOINTS for joint in info.joints]
    return (*joints, *info.other_signals)


def find_unmeasured(terms: Sequence[Term], known: Collection[str]) -> tuple[str, ...]:
    """Signals that some terms need and that are not among those known."""
    return tuple(name for name in list_signals(tuple(terms)) if name not in known)


def check_measurable(
    terms: Sequence[Term],
    measured: RobotInfo | Collection[str],
    *,
    given: Collection[str] = (),
) -> None:
    """Raises where terms need what a robot does not measure and nobody gives.

    `given` are inputs of the task and last actions.
    """
    known = list_measured(measured) if isinstance(measured, RobotInfo) else measured
    missing = find_unmeasured(terms, {*known, *given})
    if not missing:
        return
    needing = [t.name for t in terms if not set(missing).isdisjoint(t.signals)]
    raise RealworthyError(
        f"The robot does not measure {', '.join(missing)}, which the policy's terms"
        f" {', '.join(needing)} need.",
        hint="Leave these terms to the critic and train again; or distil into a policy"
        " without them; or estimate the signals on the robot and list them among its"
        " other_signals.",
    )
