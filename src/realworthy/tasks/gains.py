"""Gains of a twin's position drives."""

from realworthy.policies.contract import DriveGains
from realworthy.twins import Twin
from realworthy.twins.commands import CommandLine


def find_owner(line: CommandLine) -> str:
    """The joint or actuator that a command is named after."""
    return line.signal.partition(".command")[0]


def find_gains(twin: Twin, line: CommandLine) -> DriveGains | None:
    """Nominal ones of a position drive; None where the twin has none."""
    owner, space = find_owner(line), twin.space
    if line.kind != "position" or f"{owner}.kp" not in space:
        return None
    damping = f"{owner}.kd"
    kd = space[damping].nominal if damping in space else 0.0
    return DriveGains(kp=space[f"{owner}.kp"].nominal, kd=kd)
