"""Gains of a twin's position drives."""

from realworthy.twins.commands import CommandLine
from realworthy.twins.twin import Twin


def find_owner(line: CommandLine) -> str:
    """The joint or actuator that a command is named after."""
    return line.signal.partition(".command")[0]


def find_gains(twin: Twin, line: CommandLine) -> tuple[float, float] | None:
    """Nominal kp [N·m/rad] and kd [N·m·s/rad] of a position drive; None of another."""
    owner, space = find_owner(line), twin.space
    if line.kind != "position" or f"{owner}.kp" not in space:
        return None
    damping = f"{owner}.kd"
    kd = space[damping].nominal if damping in space else 0.0
    return space[f"{owner}.kp"].nominal, kd
