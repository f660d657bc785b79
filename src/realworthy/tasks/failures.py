"""Why a trial failed: one code for each cause, the first in time wins."""

import enum


class Failure(enum.IntEnum):
    """Codes that tasks, certificates and reports share; gaps leave room for more."""

    NONE = 0
    NUMERICAL = 10
    """The physics diverged; says something of the simulator, nothing of the policy."""
    FALL = 20
    BASE_CONTACT = 21
    JOINT_LIMIT = 30
    TORQUE_SATURATION = 31
    """For more than half a second."""
    OVER_SPEED = 32
    TRACKING_LOST = 40
    OBJECT_DROPPED = 50
    GRASP_MISSED = 51
    WRONG_CONTACT = 52
    NO_PROGRESS = 60
    """Time ran out before the goal was reached."""
    OSCILLATION = 70
    """Actions swing faster than 8 Hz by more than a tenth of their range."""
    OUT_OF_WORKSPACE = 80
    WATCHDOG = 90
