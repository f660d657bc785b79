"""Gains of a twin's position drives, as a contract states them."""

from realworthy.policies.contract import DriveGains
from realworthy.twins import Twin, commands
from realworthy.twins.commands import CommandLine, find_owner

__all__ = ["find_gains", "find_owner"]


def find_gains(twin: Twin, line: CommandLine) -> DriveGains | None:
    """Nominal ones of a position drive; None where the twin has none."""
    found = commands.find_gains(twin, line)
    return None if found is None else DriveGains(kp=found[0], kd=found[1])
