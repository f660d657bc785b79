"""Robots: what can be commanded and measured, real or stand-in.

Here live the `Robot` interface with its `State`, `Command` and `RobotInfo`, `Limits` of
joints, `Plan` (what to send along a motion), and transports over a wire.

Here do not live models, physics or guards: a stand-in is made in `realities`, and what
may reach a motor is decided in `deployment`, which alone writes to a robot. numpy only.
May import: `recordings`, `parameters`.
"""

from realworthy.robots.limits import Limits
from realworthy.robots.robot import Command, Mode, Robot, RobotInfo, State

__all__ = ["Command", "Limits", "Mode", "Robot", "RobotInfo", "State"]
